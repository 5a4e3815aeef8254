//! `corbie mshn schedule` and `generate`, through the real command.

mod process;

use process::{corbie, scratch_folder};

#[test]
fn a_generated_matrix_is_scheduled_and_drawn() {
    let folder = scratch_folder("mshn");
    let (matrix, chart) = (folder.join("u_s_hilo.3"), folder.join("chart.svg"));
    let size = ["--tasks", "24", "--machines", "3", "--seed", "3"];
    let made = corbie(&[&["mshn", "generate", "u_s_hilo"], &size[..]].concat());
    std::fs::write(&matrix, &made.stdout).expect("written");
    let matrix = matrix.display().to_string();
    let chart_argument = chart.display().to_string();
    let scheduled =
        corbie(&["mshn", "schedule", &matrix, "--heuristic", "all", "--gantt", &chart_argument]);
    assert_eq!(scheduled.status, 0, "{}", scheduled.stderr);
    let makespan = |name: &str| -> f64 {
        let line = scheduled.stdout.lines().find(|line| line.split(' ').next() == Some(name));
        line.and_then(|line| line.split_whitespace().nth(1)?.parse().ok()).expect(name)
    };
    assert!(makespan("ga") <= makespan("min-min") && makespan("min-min") < makespan("met"));
    assert!(std::fs::read_to_string(&chart).expect("drawn").contains("task 23:"));
}

#[test]
fn a_command_that_cannot_be_run_ends_as_in_a_shell() {
    let missing = corbie(&["mshn", "run", "--", "/nowhere/program"]);
    assert_eq!(missing.status, 127, "{missing:?}");
    assert!(missing.stderr.contains("cannot run /nowhere/program"), "{missing:?}");
    let folder = corbie(&["mshn", "run", "--", env!("CARGO_MANIFEST_DIR")]);
    assert_eq!(folder.status, 126, "{folder:?}");
    // What ran has run, wherever it is to be recorded.
    let done = corbie(&["mshn", "run", "--", "true"]);
    assert_eq!(done.status, 0, "{done:?}");
    assert!(done.stderr.contains("cannot record what it used: which naming service"), "{done:?}");
}

#[test]
fn a_time_that_no_clock_has_is_an_error_of_usage() {
    let submit = ["mshn", "submit", "-n", "127.0.0.1:1", "--wait", "1e19", "--", "true"];
    let push = ["events", "push", "prices", "1", "-f", "127.0.0.1:1", "--retry", "1e19"];
    for refused in [corbie(&submit), corbie(&push)] {
        assert_eq!(refused.status, 64, "{refused:?}");
        assert!(refused.stderr.contains("1e9 seconds at most"), "{refused:?}");
    }
}

#[test]
fn what_is_wrong_with_a_file_is_said() {
    let folder = scratch_folder("mshn-wrong");
    let file = folder.join("wrong");
    std::fs::write(&file, "2 2 0\n1\n2\nx\n4\n").expect("written");
    let failed = corbie(&["mshn", "schedule", &file.display().to_string()]);
    assert_eq!(failed.status, 1);
    assert!(failed.stderr.contains("line 4 is `x`"), "{}", failed.stderr);
    let unknown = corbie(&["mshn", "schedule", &file.display().to_string(), "--heuristic", "best"]);
    assert!(unknown.stderr.contains("there are olb, met"), "{}", unknown.stderr);
}
