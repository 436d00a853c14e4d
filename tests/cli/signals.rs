//! A run that is ended by a signal leaves nothing behind.
#![cfg(unix)]

use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::sandbox::Sandbox;

/// Names in the folder that are no tensor's.
fn temporary(folder: &std::path::Path) -> Vec<String> {
    std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.contains("siskin-"))
        .collect()
}

#[test]
fn a_signal_ends_a_run_that_is_writing_and_no_temporary_file_stays() {
    let sandbox = Sandbox::new();
    let work = sandbox.path("work");
    std::fs::create_dir(&work).unwrap();
    for (signal, number) in [("INT", 2), ("TERM", 15)] {
        // Much to write, so that there is time to be interrupted.
        let run = ["run", "C[i,j] = a[i] * b[j]", "-t", "a=ones", "-t", "b=ones"];
        let rest = ["--dims", "i=6000", "--dims", "j=6000", "-o", "work/c.mtx"];
        let mut command = sandbox.command(&[&run[..], &rest].concat());
        command.env("TMPDIR", &work).stdout(Stdio::null()).stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        let start = Instant::now();
        while !temporary(&work).iter().any(|name| name.starts_with('.')) {
            assert!(start.elapsed() < Duration::from_secs(60), "it never wrote");
            assert!(child.try_wait().unwrap().is_none(), "it was done too early");
            std::thread::sleep(Duration::from_millis(5));
        }
        let id = child.id().to_string();
        assert!(Command::new("kill").args(["-s", signal, &id]).status().unwrap().success());
        let status = child.wait().unwrap();
        assert_eq!(status.signal(), Some(number), "{status}");
        assert_eq!(temporary(&work), [""; 0]);
        assert!(!work.join("c.mtx").exists());
    }
}

#[test]
fn a_signal_while_standard_input_is_awaited_leaves_nothing() {
    let sandbox = Sandbox::new();
    let work = sandbox.path("work");
    std::fs::create_dir(&work).unwrap();
    let mut command = sandbox.command(&["convert", "-:mtx", "y.mtx"]);
    command.env("TMPDIR", &work).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = command.spawn().unwrap();
    std::thread::sleep(Duration::from_millis(200));
    let id = child.id().to_string();
    assert!(Command::new("kill").args(["-s", "TERM", &id]).status().unwrap().success());
    assert!(!child.wait().unwrap().success());
    assert_eq!(temporary(&work), [""; 0]);
}
