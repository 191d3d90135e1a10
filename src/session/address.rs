//! Parses the URLs that agents send into [`Address`]es: files with a line, or web pages with
//! security warnings. It opens nothing.

use std::path::PathBuf;
use url::{Host, Url, quirks};

/// What a URL refers to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Address {
    /// A file on this machine.
    File {
        /// The absolute path.
        path: PathBuf,
        /// Line, counted from 1.
        line: Option<u32>,
    },
    /// A web page.
    Web(Page),
}

/// An `http` or `https` URL.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page {
    /// The normalized URL in ASCII, as it would be opened. Lookalike letters are encoded in it.
    pub url: String,
    /// The host in ASCII (punycode).
    pub host: String,
    /// Warnings for the user, one line each.
    pub warnings: Vec<String>,
}

impl Page {
    /// Parses a web URL. The error says in one line why it must not be opened.
    pub fn parse(text: &str) -> Result<Self, String> {
        let url = Url::parse(text).map_err(|error| format!("url is not a valid URL ({error})"))?;
        if !matches!(url.scheme(), "http" | "https") {
            return Err(format!("url must be https or http, not {}", url.scheme()));
        }
        let host = url.host_str().unwrap_or_default().to_owned();
        let mut warnings = Vec::new();
        if !url.username().is_empty() || url.password().is_some() {
            warnings.push(format!("the part before @ is a user name: the host is {host}"));
        }
        if let Some(Host::Domain(domain)) = url.host()
            && domain.split('.').any(|label| label.starts_with("xn--"))
        {
            let shown = quirks::domain_to_unicode(domain);
            warnings.push(format!("the host looks like \"{shown}\" and may imitate another"));
        }
        if url.scheme() == "http" {
            warnings
                .push("http is not encrypted: others can read and change what you send".to_owned());
        }
        Ok(Self { url: url.into(), host, warnings })
    }
}

/// Parses a URL; `None` if it is neither a file nor a web page.
pub fn address(uri: &str) -> Option<Address> {
    if uri.starts_with('/') {
        // Some agents send a path without a scheme.
        return Some(Address::File { path: uri.into(), line: None });
    }
    let url = Url::parse(uri).ok()?;
    match url.scheme() {
        "file" => {
            let path = url.to_file_path().ok()?;
            Some(Address::File { path, line: url.fragment().and_then(line) })
        }
        "http" | "https" => Page::parse(uri).ok().map(Address::Web),
        _ => None,
    }
}

/// Returns the first line that a fragment names: `L7`, `L7-9`, `7`.
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
    fn file_addresses_have_a_path_and_a_line() {
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

    /// ACP 128.
    #[test]
    fn a_page_has_its_host_and_warnings() {
        let plain = Page::parse("https://example.com:8443/a?b=c#d").unwrap();
        assert_eq!(plain.url, "https://example.com:8443/a?b=c#d");
        assert_eq!((plain.host.as_str(), plain.warnings.len()), ("example.com", 0));
        let warned = |url: &str, word: &str| {
            let page = Page::parse(url).unwrap();
            assert!(page.url.is_ascii(), "{page:?}");
            assert!(page.warnings.iter().any(|line| line.contains(word)), "{word}: {page:?}");
            page
        };
        warned("http://example.com", "http is not encrypted");
        // The first letter is Cyrillic, once as such and once in punycode.
        let imitated = warned("https://\u{430}pple.com/", "\"\u{430}pple.com\"");
        assert_eq!(imitated, warned("https://xn--pple-43d.com/", "imitate"));
        assert_eq!(imitated.host, "xn--pple-43d.com");
        let trap = warned("https://example.com@evil.test/login", "the host is evil.test");
        assert_eq!(trap.host, "evil.test");
        warned("https://:secret@evil.test/", "user name");
        // Control and bidi characters are percent-encoded or dropped.
        let hidden = Page::parse("https://a.b/\u{202e}gpj.exe\u{0}\n").unwrap();
        assert_eq!(hidden.url, "https://a.b/%E2%80%AEgpj.exe");
    }

    #[test]
    fn other_addresses_are_refused() {
        for uri in ["", "a.rs", "javascript:alert(1)", "ftp://a.b/c", "zed:///agent", "http://"] {
            assert_eq!(address(uri), None, "{uri}");
        }
    }
}
