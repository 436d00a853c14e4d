//! What was proved in earlier runs: it changes nothing but how long a command takes.

use super::sandbox::{SPMSPV, Sandbox, outcome};

#[test]
fn commands_say_the_same_whatever_is_remembered() {
    let sandbox = Sandbox::new();
    let commands: [&[&str]; 5] = [
        &["emit", SPMSPV, "-f", "A=csr", "-f", "x=sparse"],
        &["emit", "C[i,j] = A[i,j] * B[i,j]", "-f", "A=csr", "-f", "B=hash", "-f", "C=csr"],
        &["emit", SPMSPV, "-f", "A=csc", "-f", "x=sparse", "--threads", "2"],
        // Refused, with an example and with a counterexample.
        &["emit", "m[j] max= A[i,j]", "-f", "A=csr", "--order", "i,j", "--threads", "2"],
        &["emit", SPMSPV, "-f", "A=csr", "-f", "x=coo-unsorted", "--find", "px=bsearch"],
    ];
    let run = |arguments: &[&str]| {
        let out = outcome(sandbox.command(arguments).env("SISKIN_CACHE", sandbox.path("cache")));
        (out.status, out.stdout, out.stderr)
    };
    let all = || commands.iter().map(|arguments| run(arguments)).collect::<Vec<_>>();
    let decided = || std::fs::read(sandbox.path("cache/decided")).expect("what was proved");
    let first = all();
    assert_eq!(first.iter().map(|out| out.0).collect::<Vec<_>>(), [0, 0, 0, 2, 2]);
    let kept = decided();
    let written = || sandbox.path("cache/decided").metadata().unwrap().modified().unwrap();
    let once = written();
    assert_eq!(all(), first, "all is remembered");
    assert_eq!(written(), once, "nothing new is to be written");
    assert_eq!(decided(), kept, "nothing is asked again");
    for damaged in [&kept[..kept.len() / 2], b"", &[&kept[..], &[0; 16]].concat()] {
        std::fs::write(sandbox.path("cache/decided"), damaged).unwrap();
        assert_eq!(all(), first, "damaged, it is as if nothing were remembered");
        assert_eq!(decided(), kept);
    }
    std::fs::remove_file(sandbox.path("cache/decided")).unwrap();
    std::fs::create_dir(sandbox.path("cache/decided")).unwrap();
    assert_eq!(all(), first, "where it cannot be kept");
}
