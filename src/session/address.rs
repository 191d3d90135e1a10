//! Where an address leads: a place in a file, or a page of the web. It looks at the address alone.

use std::path::PathBuf;
use url::Url;

/// Where an address leads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Address {
    /// To a file of this machine.
    File {
        /// Absolute.
        path: PathBuf,
        /// Line, counted from 1.
        line: Option<u32>,
    },
    /// To the web.
    Web {
        /// The whole address in ASCII: what looks like another letter stands there as what it is.
        url: String,
        /// The host alone, in ASCII.
        host: String,
    },
}

/// Reads an address; `None` where it leads nowhere we can go.
pub fn address(uri: &str) -> Option<Address> {
    if uri.starts_with('/') {
        // Some agents leave the scheme out.
        return Some(Address::File { path: uri.into(), line: None });
    }
    let url = Url::parse(uri).ok()?;
    match url.scheme() {
        "file" => {
            let path = url.to_file_path().ok()?;
            Some(Address::File { path, line: url.fragment().and_then(line) })
        }
        "http" | "https" => {
            let host = url.host_str()?.to_owned();
            Some(Address::Web { url: url.into(), host })
        }
        _ => None,
    }
}

/// The line that a fragment names: `L7`, `L7-9`, `7`.
fn line(fragment: &str) -> Option<u32> {
    let digits = fragment.strip_prefix('L').unwrap_or(fragment);
    let end = digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len());
    digits[..end].parse().ok().filter(|line| *line > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn to_file(uri: &str) -> (String, Option<u32>) {
        match address(uri) {
            Some(Address::File { path, line }) => (path.to_string_lossy().into_owned(), line),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn files_are_found_with_their_line() {
        assert_eq!(to_file("file:///a%20b/c.rs"), ("/a b/c.rs".to_owned(), None));
        assert_eq!(to_file("file:///a.rs#L7"), ("/a.rs".to_owned(), Some(7)));
        assert_eq!(to_file("file:///a.rs#L7-L9"), ("/a.rs".to_owned(), Some(7)));
        assert_eq!(to_file("file:///a.rs#12"), ("/a.rs".to_owned(), Some(12)));
        assert_eq!(to_file("file:///a.rs#L0"), ("/a.rs".to_owned(), None));
        assert_eq!(to_file("file:///a.rs#intro"), ("/a.rs".to_owned(), None));
        assert_eq!(to_file("file:///a.rs#L99999999999"), ("/a.rs".to_owned(), None));
        assert_eq!(to_file("/a.rs"), ("/a.rs".to_owned(), None));
        assert_eq!(address("file://elsewhere/a.rs"), None);
    }

    #[test]
    fn pages_say_whole_where_they_are() {
        let web = |uri| match address(uri) {
            Some(Address::Web { url, host }) => (url, host),
            other => panic!("{other:?}"),
        };
        let (url, host) = web("https://good.org@evil.org/\u{202e}x");
        assert_eq!(host, "evil.org");
        assert!(url.is_ascii() && url.starts_with("https://good.org@evil.org/%E2"), "{url}");
        assert_eq!(web("http://ex\u{430}mple.org").1, "xn--exmple-4nf.org");
    }

    #[test]
    fn nothing_else_is_gone_to() {
        for uri in ["", "a.rs", "javascript:alert(1)", "ftp://a.b/c", "zed:///agent", "http://"] {
            assert_eq!(address(uri), None, "{uri}");
        }
    }
}
