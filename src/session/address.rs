//! Where an address leads: a place in a file, or a page of the web, and what to beware of there. It looks at the address
//! alone, and opens nothing.

use std::path::PathBuf;
use url::{Host, Url, quirks};

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
    Web(Page),
}

/// A page of the web.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page {
    /// The whole address in ASCII, as it would be opened: what looks like another letter stands there as what it is.
    pub url: String,
    /// Where it leads, in ASCII.
    pub host: String,
    /// What to beware of, one line each.
    pub warnings: Vec<String>,
}

impl Page {
    /// Reads an address. Why it is none that may be opened, in one line.
    pub fn read(text: &str) -> Result<Self, String> {
        let url = Url::parse(text).map_err(|error| format!("url is no address ({error})"))?;
        if !matches!(url.scheme(), "http" | "https") {
            return Err(format!("url has to be https or http, not {}", url.scheme()));
        }
        let host = url.host_str().unwrap_or_default().to_owned();
        let mut warnings = Vec::new();
        if !url.username().is_empty() || url.password().is_some() {
            warnings.push(format!("what stands before @ is a user name: this leads to {host}"));
        }
        if let Some(Host::Domain(domain)) = url.host()
            && domain.split('.').any(|label| label.starts_with("xn--"))
        {
            let shown = quirks::domain_to_unicode(domain);
            warnings.push(format!("the host looks like \"{shown}\", which may imitate another"));
        }
        if url.scheme() == "http" {
            warnings.push("http: others can read and change what goes there".to_owned());
        }
        Ok(Self { url: url.into(), host, warnings })
    }
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
        "http" | "https" => Page::read(uri).ok().map(Address::Web),
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

    /// ACP 128.
    #[test]
    fn a_page_says_where_it_leads_and_what_to_beware_of() {
        let plain = Page::read("https://example.com:8443/a?b=c#d").unwrap();
        assert_eq!(plain.url, "https://example.com:8443/a?b=c#d");
        assert_eq!((plain.host.as_str(), plain.warnings.len()), ("example.com", 0));
        let warned = |url: &str, word: &str| {
            let page = Page::read(url).unwrap();
            assert!(page.url.is_ascii(), "{page:?}");
            assert!(page.warnings.iter().any(|it| it.contains(word)), "{word}: {page:?}");
            page
        };
        warned("http://example.com", "http:");
        // The first letter is Cyrillic, written as it is and in punycode.
        let imitated = warned("https://\u{430}pple.com/", "\"\u{430}pple.com\"");
        assert_eq!(imitated, warned("https://xn--pple-43d.com/", "imitate"));
        assert_eq!(imitated.host, "xn--pple-43d.com");
        let trap = warned("https://example.com@evil.test/login", "leads to evil.test");
        assert_eq!(trap.host, "evil.test");
        warned("https://:secret@evil.test/", "user name");
        // Nothing that is shown hides or turns what follows.
        let hidden = Page::read("https://a.b/\u{202e}gpj.exe\u{0}\n").unwrap();
        assert_eq!(hidden.url, "https://a.b/%E2%80%AEgpj.exe");
    }

    #[test]
    fn nothing_else_is_gone_to() {
        for uri in ["", "a.rs", "javascript:alert(1)", "ftp://a.b/c", "zed:///agent", "http://"] {
            assert_eq!(address(uri), None, "{uri}");
        }
    }
}
