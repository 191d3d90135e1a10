//! What a kernel can enforce, and what to say if that is not enough.

/// How much of Landlock the kernel has, or what it has instead.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kernel {
    /// Nothing, or it is switched off.
    Without,
    /// Less than is needed to keep files outside from being emptied or moved.
    TooOld,
    /// Files.
    Files,
    /// Files and TCP ports.
    FilesAndPorts,
    /// The same by `sandbox-exec`, which nobody has tried.
    Untried,
}

impl Kernel {
    /// Checks that it can enforce a confinement. The error is one line for the user.
    pub fn check(self, limits_ports: bool) -> Result<(), &'static str> {
        match self {
            Self::Without if cfg!(target_os = "linux") => {
                Err("this Linux has no Landlock, or it is switched off (see `man 7 landlock`)")
            }
            Self::Without => Err("agents can be confined on Linux and macOS only"),
            Self::TooOld => {
                Err("the Landlock of this Linux is too old: Linux 6.2 or newer is needed")
            }
            Self::Files if limits_ports => {
                Err("this Linux cannot limit ports: Linux 6.7 or newer is needed")
            }
            Self::Files | Self::FilesAndPorts | Self::Untried => Ok(()),
        }
    }
}
