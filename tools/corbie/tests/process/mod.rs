//! Runs the `corbie` binary and keeps what it says. Shared by the end-to-end tests.
//! Nothing of the test's surroundings reaches it but the arguments.

use std::path::PathBuf;
use std::process::Command;

/// What a run of the command left behind.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Outcome {
    /// The exit status; -1 after a signal.
    pub(crate) status: i32,
    /// Standard output.
    pub(crate) stdout: String,
    /// Standard error.
    pub(crate) stderr: String,
}

/// Runs `corbie` in the folder of its package, without settings from outside.
pub(crate) fn corbie<S: AsRef<std::ffi::OsStr>>(arguments: &[S]) -> Outcome {
    let output = Command::new(env!("CARGO_BIN_EXE_corbie"))
        .args(arguments)
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .env_remove("CORBIE_CONFIG_FILE")
        .stdin(std::process::Stdio::null())
        .output()
        .expect("the binary was built with the test");
    Outcome {
        status: output.status.code().unwrap_or(-1),
        stdout: String::from_utf8(output.stdout).expect("the command writes UTF-8"),
        stderr: String::from_utf8(output.stderr).expect("the command writes UTF-8"),
    }
}

/// An empty folder for one test.
#[allow(dead_code, reason = "not every file with tests writes files")]
pub(crate) fn scratch_folder(name: &str) -> PathBuf {
    let folder =
        PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}-{}", std::process::id()));
    if folder.exists() {
        std::fs::remove_dir_all(&folder).expect("an old folder can be removed");
    }
    std::fs::create_dir_all(&folder).expect("a folder can be made");
    folder
}
