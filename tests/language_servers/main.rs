//! The editor's own tools with real language servers, pyright and typescript-language-server. Run by
//! `make test-language-servers`, which names the folder they are installed in.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panic")]
#![allow(
    clippy::needless_pass_by_value,
    reason = "json!(..) as an argument reads better than a reference to it"
)]

mod changes;
mod readers;
mod servers;
#[path = "../support/mod.rs"]
mod support;

/// Makes a test of each of the functions for each of the language servers.
macro_rules! with_each_server {
    ($($test:ident),* $(,)?) => {
        mod pyright {
            $(#[test]
            fn $test() {
                super::$test($crate::servers::Server::Pyright);
            })*
        }
        mod typescript {
            $(#[test]
            fn $test() {
                super::$test($crate::servers::Server::TypeScript);
            })*
        }
    };
}
use with_each_server;
