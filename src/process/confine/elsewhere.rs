//! Stands in for `landlock` on systems without it, where nothing can be confined.

use super::kernel::Kernel;
use std::path::PathBuf;

pub(super) fn kernel() -> Kernel {
    Kernel::Without
}

pub(super) fn restrict(
    _write: &[PathBuf],
    _read: Option<&[PathBuf]>,
    _ports: Option<&[u16]>,
) -> Result<(), String> {
    Kernel::Without.check(false).map_err(str::to_owned)
}
