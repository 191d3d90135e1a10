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

    fn file(path: &str, line: Option<u32>) -> Option<Address> {
        Some(Address::File { path: path.into(), line })
    }

    #[test]
    fn files_are_found_with_their_line() {
        assert_eq!(address("file:///a%20b/c.rs"), file("/a b/c.rs", None));
        assert_eq!(address("file:///a.rs#L7"), file("/a.rs", Some(7)));
        assert_eq!(address("file:///a.rs#L7-L9"), file("/a.rs", Some(7)));
        assert_eq!(address("file:///a.rs#12"), file("/a.rs", Some(12)));
        assert_eq!(address("file:///a.rs#L0"), file("/a.rs", None));
        assert_eq!(address("file:///a.rs#intro"), file("/a.rs", None));
        assert_eq!(address("file:///a.rs#L99999999999"), file("/a.rs", None));
        assert_eq!(address("/a.rs"), file("/a.rs", None));
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
