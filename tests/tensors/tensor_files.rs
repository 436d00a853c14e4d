//! Tensor files: every format reads back what it wrote, and says what is wrong with what it cannot
//! read.

use std::cell::Cell;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use siskin::diagnostic::{Code, Diagnostic};
use siskin::files::{EXTENSIONS, File, Loaded, ReadOptions, read, write};
use siskin::tensor::{DenseArray, Entries, IndexData, ValueType, Values};

/// Writes `text` to a file of this name and reads it.
fn read_text(name: &str, text: &[u8], options: &ReadOptions<'_>) -> Result<File, Box<Diagnostic>> {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join(name);
    fs::write(&path, text).unwrap();
    read(&path, options)
}

fn mtx(text: &str) -> Result<File, Box<Diagnostic>> {
    read_text("a.mtx", text.as_bytes(), &ReadOptions::default())
}

fn tns(text: &str) -> Result<File, Box<Diagnostic>> {
    read_text("a.tns", text.as_bytes(), &ReadOptions::default())
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// Row, column and value of each entry, in the order of the file.
fn triples(loaded: &Loaded) -> Vec<(usize, usize, f64)> {
    let Loaded::Entries(entries) = loaded else { panic!("not entries: {loaded:?}") };
    (0..entries.len())
        .map(|k| {
            let point = entries.point(k);
            (point[0], point[1], entries.values().get_f64(k))
        })
        .collect()
}

#[track_caller]
fn assert_refused(result: Result<File, Box<Diagnostic>>, line: usize, fragment: &str) {
    let error = result.expect_err("accepted");
    assert_eq!(error.code, Code::Data, "{error:?}");
    assert!(error.message.contains(fragment), "`{fragment}` is not in {error:?}");
    assert_eq!(error.source.as_ref().unwrap().first_line, line, "{error:?}");
}

mod matrix_market {
    use super::*;

    #[test]
    fn a_general_real_file_keeps_the_order_and_duplicates() {
        let file = mtx("%%MatrixMarket matrix coordinate real general\n% a comment\n\n3 4 4\n\
                        3 1 .5\n1 4 -1e3\n\n% another\n1 4 2\n  2 2\t0\r\n")
        .unwrap();
        assert_eq!(file.loaded.dims(), [3, 4]);
        assert_eq!(triples(&file.loaded), [(2, 0, 0.5), (0, 3, -1000.0), (0, 3, 2.0), (1, 1, 0.0)]);
        assert!(file.warnings.is_empty());
    }

    #[test]
    fn integer_and_pattern_files_have_their_types() {
        let file =
            mtx("%%MatrixMarket matrix coordinate integer general\n1 1 1\n1 1 9007199254740993\n")
                .unwrap();
        assert_eq!(file.loaded.values(), &Values::I64(vec![9007199254740993]));
        let file = mtx("%%matrixmarket MATRIX Coordinate PATTERN General\n2 2 1\n2 1\n").unwrap();
        assert_eq!(file.loaded.values(), &Values::F64(vec![1.0]));
        let options = ReadOptions { value_type: Some(ValueType::Bool), ..Default::default() };
        let text = b"%%MatrixMarket matrix coordinate pattern general\n2 2 1\n2 1\n";
        let file = read_text("a.mtx", text, &options).unwrap();
        assert_eq!(file.loaded.values(), &Values::Bool(vec![true]));
    }

    #[test]
    fn symmetric_files_are_expanded_with_the_diagonal_once() {
        let file =
            mtx("%%MatrixMarket matrix coordinate real symmetric\n3 3 2\n1 1 5\n3 2 7\n").unwrap();
        assert_eq!(triples(&file.loaded), [(0, 0, 5.0), (2, 1, 7.0), (1, 2, 7.0)]);
        let file =
            mtx("%%MatrixMarket matrix coordinate real skew-symmetric\n3 3 2\n1 1 0\n3 2 7\n")
                .unwrap();
        assert_eq!(triples(&file.loaded), [(0, 0, 0.0), (2, 1, 7.0), (1, 2, -7.0)]);
    }

    #[test]
    fn arrays_are_stored_by_columns_and_triangles_are_unpacked() {
        let values = |text: &str| {
            let Loaded::Dense(array) = mtx(text).unwrap().loaded else { panic!("not dense") };
            array.into_values()
        };
        assert_eq!(
            values("%%MatrixMarket matrix array real general\n2 3\n1\n2\n3\n4\n5\n6\n"),
            Values::F64(vec![1.0, 3.0, 5.0, 2.0, 4.0, 6.0])
        );
        assert_eq!(
            values("%%MatrixMarket matrix array integer symmetric\n2 2\n1\n2\n3\n"),
            Values::I64(vec![1, 2, 2, 3])
        );
        assert_eq!(
            values("%%MatrixMarket matrix array real skew-symmetric\n3 3\n1\n2\n3\n"),
            Values::F64(vec![0.0, -1.0, -2.0, 1.0, 0.0, -3.0, 2.0, 3.0, 0.0])
        );
        assert_eq!(values("%%MatrixMarket matrix array real general\n0 5\n"), Values::F64(vec![]));
    }

    #[test]
    fn what_the_format_forbids_but_readers_accept_is_a_warning_with_its_line() {
        let file = mtx("%MatrixMarket matrix coordinate pattern symmetric \n2 2 1\n2 1\n").unwrap();
        assert_eq!(file.warnings.len(), 1);
        assert!(file.warnings[0].contains("line 1"), "{:?}", file.warnings);
        let file =
            mtx("%%MatrixMarket matrix coordinate pattern symmetric\n3 3 2\n2 1\n1 3\n").unwrap();
        assert_eq!(file.warnings.len(), 1);
        assert!(file.warnings[0].contains("line 4"), "{:?}", file.warnings);
        assert_eq!(file.loaded.stored(), 4);
    }

    #[test]
    fn bad_headers_are_refused_at_line_one() {
        let mut refused = 0;
        for (header, fragment) in [
            ("", "empty"),
            ("1 1 1", "does not begin with"),
            ("%%MatrixMarket", "the object is ``"),
            ("%%MatrixMarket vector coordinate real general", "the object is `vector`"),
            ("%%MatrixMarket matrix", "the format is missing"),
            ("%%MatrixMarket matrix dense real general", "unknown format `dense`"),
            ("%%MatrixMarket matrix coordinate", "the field is missing"),
            ("%%MatrixMarket matrix coordinate rational general", "unknown field `rational`"),
            ("%%MatrixMarket matrix coordinate complex general", "complex matrices"),
            ("%%MatrixMarket matrix coordinate real", "the symmetry is missing"),
            ("%%MatrixMarket matrix coordinate real hermitian", "Hermitian"),
            ("%%MatrixMarket matrix coordinate real diagonal", "unknown symmetry `diagonal`"),
            ("%%MatrixMarket matrix coordinate real general x", "`x` after the symmetry"),
            ("%%MatrixMarket matrix array pattern general", "cannot have the field `pattern`"),
            ("%%MatrixMarket matrix coordinate pattern skew-symmetric", "cannot be `skew"),
        ] {
            assert_refused(mtx(header), 1, fragment);
            refused += 1;
        }
        assert_eq!(refused, 15);
    }

    #[test]
    fn bad_size_lines_and_entries_are_refused_at_their_line() {
        const REAL: &str = "%%MatrixMarket matrix coordinate real general\n";
        const SYMMETRIC: &str = "%%MatrixMarket matrix coordinate real symmetric\n";
        const SKEW: &str = "%%MatrixMarket matrix coordinate integer skew-symmetric\n";
        const PATTERN: &str = "%%MatrixMarket matrix coordinate pattern general\n";
        const ARRAY: &str = "%%MatrixMarket matrix array real general\n";
        for (header, rest, line, fragment) in [
            (REAL, "", 1, "size line is missing"),
            (REAL, "% only a comment\n", 2, "size line is missing"),
            (REAL, "2 2\n", 2, "number of entries in the size line is missing"),
            (REAL, "-2 2 1\n", 2, "number of rows in the size line is negative"),
            (REAL, "2 nan 1\n", 2, "number of columns in the size line is not a number"),
            (REAL, "2 2 1.5\n", 2, "number of entries in the size line is not an integer"),
            (REAL, "two 2 1\n", 2, "not a number: `two`"),
            (REAL, "2 2 99999999999999999999999\n", 2, "out of range"),
            (REAL, "18446744073709551615 2 1\n", 2, "out of range"),
            (REAL, "2 2 1 1\n", 2, "too many numbers"),
            (REAL, "2 2 3\n1 1 1\n2 2 2\n", 4, "too few entries: the size line declares 3"),
            (REAL, "2 2 1\n1 1 1\n2 2 2\n", 4, "too many entries: the size line declares 1"),
            (REAL, "2 2 1\n0 1 1\n", 3, "row coordinate is 0"),
            (REAL, "2 2 1\n1 3 1\n", 3, "column coordinate 3 is beyond the extent 2"),
            (REAL, "2 2 1\n1 -1 1\n", 3, "column coordinate is negative"),
            (REAL, "2 2 1\n1\n", 3, "column coordinate is missing"),
            (REAL, "2 2 1\n1 1\n", 3, "value is missing"),
            (REAL, "2 2 1\n1 1 one\n", 3, "value is not a number: `one`"),
            (REAL, "2 2 1\n1 1 1.0 0.0\n", 3, "trailing words"),
            (REAL, "2 2 1\n1.0 1 1\n", 3, "row coordinate is not an integer: `1.0`"),
            (PATTERN, "2 2 1\n1 1 1.0\n", 3, "trailing words"),
            (SYMMETRIC, "2 3 1\n1 1 1\n", 2, "must be square"),
            (SKEW, "2 2 1\n2 2 1\n", 3, "nonzero on its diagonal"),
            (SKEW, "2 2 1\n2 1 0.5\n", 3, "value is not an integer"),
            (SKEW, "2 2 1\n2 1 -9223372036854775808\n", 3, "does not fit in i64"),
            (ARRAY, "2\n", 2, "number of columns in the size line is missing"),
            (ARRAY, "2 1\n1\n", 3, "too few values: 2×1 need 2, the file has 1"),
            (ARRAY, "2 1\n1\n2\n3\n", 5, "too many values"),
            (ARRAY, "2 1\n1 2\n", 3, "trailing words"),
            (ARRAY, "2 1\nx\n", 3, "value is not a number"),
            (ARRAY, "4000000000 4000000000\n1\n", 3, "too few values"),
        ] {
            assert_refused(mtx(&format!("{header}{rest}")), line, fragment);
        }
    }

    #[test]
    fn the_diagnostic_shows_the_line_itself() {
        let error =
            mtx("%%MatrixMarket matrix coordinate real general\n2 2 1\n1 7 3.5\n").unwrap_err();
        let source = error.source.unwrap();
        assert!(source.name.ends_with("a.mtx"));
        assert_eq!(&*source.text, "1 7 3.5");
        assert_eq!(error.span.unwrap().0, 0..7);
    }

    #[test]
    fn vectors_and_scalars_are_written_as_matrices() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("v.mtx");
        let vector = Entries::from_points(&[4], &[(&[2], 5.0)]).unwrap();
        write(&path, &vector.clone().into()).unwrap();
        let options = ReadOptions { dims: Some(vec![4]), ..Default::default() };
        assert_eq!(read(&path, &options).unwrap().loaded, Loaded::Entries(vector));
        let scalar = DenseArray::new(vec![], vec![2.5].into()).unwrap();
        write(&path, &scalar.into()).unwrap();
        assert_eq!(read(&path, &ReadOptions::default()).unwrap().loaded.dims(), [1, 1]);
    }

    #[test]
    fn a_wrong_count_reserves_no_memory() {
        let result =
            mtx("%%MatrixMarket matrix coordinate real general\n9 9 9000000000000000000\n1 1 1\n");
        assert_refused(result, 3, "too few entries");
    }
}

mod frostt {
    use super::*;

    #[test]
    fn extents_are_the_largest_coordinates() {
        let file = tns("# comment\n1 2 3 4.5\n\n2 1 1 -1\n").unwrap();
        assert_eq!(file.loaded.dims(), [2, 2, 3]);
        assert_eq!(file.loaded.values(), &Values::F64(vec![4.5, -1.0]));
    }

    #[test]
    fn given_extents_are_kept_and_checked() {
        let options = ReadOptions { dims: Some(vec![5, 5]), ..Default::default() };
        let file = read_text("a.tns", b"1 2 3\n", &options).unwrap();
        assert_eq!(file.loaded.dims(), [5, 5]);
        let file = read_text("a.tns", b"# nothing\n", &options).unwrap();
        assert_eq!((file.loaded.dims(), file.loaded.stored()), (&[5, 5][..], 0));
        let result = read_text("a.tns", b"1 2 3\n1 6 3\n", &options);
        assert_refused(result, 2, "dimension-2 coordinate 6 is beyond the extent 5");
        let error = read_text("a.tns", b"1 2 3 4\n", &options).unwrap_err();
        assert_eq!(error.code, Code::Shape);
    }

    #[test]
    fn coordinates_beyond_32_bits_take_64() {
        let file = tns("1 4294967296 1\n").unwrap();
        let Loaded::Entries(entries) = file.loaded else { panic!("not entries") };
        assert_eq!(entries.coords()[1], IndexData::U32(vec![u32::MAX]));
        let file = tns("1 1 1\n1 4294967297 1\n").unwrap();
        let Loaded::Entries(entries) = file.loaded else { panic!("not entries") };
        assert_eq!(entries.coords()[0], IndexData::U64(vec![0, 0]));
        assert_eq!(entries.coords()[1], IndexData::U64(vec![0, 1 << 32]));
    }

    #[test]
    fn malformed_lines_are_refused_at_their_line() {
        for (text, line, fragment) in [
            ("", 1, "has no entries"),
            ("# x\n\n5\n", 3, "at least one coordinate"),
            ("1 1 1\n1 1\n", 2, "too few words: expected 3, found 2"),
            ("1 1 1\n1 1 1 1\n", 2, "trailing words after the entry: expected 3, found 4"),
            ("0 1 1\n", 1, "coordinate is 0"),
            ("1 -1 1\n", 1, "coordinate is negative"),
            ("1 x 1\n", 1, "not a number: `x`"),
            ("1 1 x\n", 1, "value is not a number: `x`"),
            ("1 18446744073709551615 1\n", 1, "beyond the extent"),
        ] {
            assert_refused(tns(text), line, fragment);
        }
    }
}

mod numpy {
    use super::*;

    fn fixture(name: &str) -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/scipy").join(name)
    }

    fn open(name: &str) -> Result<File, Box<Diagnostic>> {
        read(&fixture(name), &ReadOptions::default())
    }

    /// Entries in row-major order.
    fn sorted(name: &str) -> Vec<(usize, usize, f64)> {
        let mut all = triples(&open(name).unwrap().loaded);
        all.sort_by(|a, b| a.partial_cmp(b).unwrap());
        all
    }

    #[test]
    fn every_sparse_format_of_scipy_holds_the_same_matrix() {
        let expected =
            [(0, 1, 1.5), (0, 4, -2.0), (1, 0, 3.0), (3, 2, 0.1), (3, 3, 1e300), (3, 5, -7.25)];
        let names = ["csr", "csc", "coo", "bsr", "dia", "csr_stored", "csr_i8"];
        for name in names {
            let name = format!("{name}.npz");
            assert_eq!(open(&name).unwrap().loaded.dims(), [4, 6], "{name}");
            assert_eq!(sorted(&name), expected, "{name}");
        }
    }

    #[test]
    fn value_types_of_scipy_are_kept() {
        let values = |name| open(name).unwrap().loaded.values().clone();
        assert_eq!(values("csr_i4_values.npz"), Values::I32(vec![5, 7, -9]));
        assert_eq!(values("coo_bool.npz"), Values::Bool(vec![true, true]));
        assert_eq!(values("coo_f4.npz"), Values::F32(vec![0.1, 2.5]));
    }

    #[test]
    fn sparse_arrays_of_other_ranks_are_read() {
        let vector = Entries::from_points(&[5], &[(&[2], 3.0), (&[4], 4.0)]).unwrap();
        assert_eq!(open("csr_array_1d.npz").unwrap().loaded, Loaded::Entries(vector));
        let cube = open("coo_array_3d.npz").unwrap().loaded.into_dense().unwrap();
        let expected = vec![0.0, 1.0, 2.0, 0.0, 1.0, 2.0, 0.0, 1.0];
        assert_eq!(cube, DenseArray::new(vec![2, 2, 2], expected.into()).unwrap());
    }

    #[test]
    fn dense_arrays_of_numpy_are_read_in_row_major_order() {
        let dense = |name: &str| {
            let Loaded::Dense(array) = open(name).unwrap().loaded else { panic!("not dense") };
            array
        };
        let fortran = dense("fortran_f8.npy");
        assert_eq!(fortran.dims(), [2, 3]);
        assert_eq!(fortran.values(), &Values::F64(vec![0.0, 1.0, 2.0, 3.0, 4.0, 5.0]));
        assert_eq!(dense("big_endian_i2.npy").values(), &Values::I32(vec![0, 1, 2, 3, 4, 5]));
        let cube = dense("bool_3d.npy");
        assert_eq!(cube.dims(), [1, 2, 2]);
        assert_eq!(cube.values(), &Values::Bool(vec![true, false, false, true]));
    }

    #[test]
    fn what_cannot_be_read_says_why() {
        for (name, fragment) in [
            ("complex.npy", "type `<c16` are not supported"),
            ("scalar_u8.npy", "9223372036854775808, which does not fit in i64"),
            ("csr_complex.npz", "type `<c16` are not supported"),
            ("not_sparse.npz", "no member `format.npy`"),
        ] {
            let error = open(name).unwrap_err();
            assert_eq!(error.code, Code::Data);
            assert!(error.message.contains(fragment), "{error:?}");
            assert!(error.notes.iter().any(|note| note.contains(name)), "{error:?}");
        }
    }

    #[test]
    fn truncated_and_damaged_files_are_refused() {
        for name in ["csr.npz", "csr_stored.npz", "dia.npz", "fortran_f8.npy"] {
            let whole = fs::read(fixture(name)).unwrap();
            for length in 0..whole.len() {
                let error = read_text(name, &whole[..length], &ReadOptions::default())
                    .expect_err("truncated");
                assert_eq!(error.code, Code::Data, "{name} of {length} bytes: {error:?}");
            }
            let longer = [&whole[..], b"x"].concat();
            let result = read_text(name, &longer, &ReadOptions::default());
            assert_eq!(result.is_err(), name.ends_with("npy"));
        }
        let mut damaged = fs::read(fixture("csr_stored.npz")).unwrap();
        let at = damaged.windows(8).rposition(|w| w == 1e300f64.to_le_bytes()).unwrap();
        damaged[at] ^= 1;
        let error = read_text("a.npz", &damaged, &ReadOptions::default()).unwrap_err();
        assert_eq!(error.code, Code::Data, "a wrong checksum: {error:?}");
    }

    #[test]
    fn archives_are_the_same_bytes_every_time() {
        let dir = tempfile::tempdir().unwrap();
        let matrix: Loaded = Entries::from_points(&[2, 2], &[(&[1, 0], 3.0)]).unwrap().into();
        let bytes = |name: &str| {
            write(&dir.path().join(name), &matrix).unwrap();
            fs::read(dir.path().join(name)).unwrap()
        };
        for extension in EXTENSIONS {
            assert_eq!(bytes(&format!("a{extension}")), bytes(&format!("b{extension}")));
            assert_eq!(bytes(&format!("a{extension}.gz")), bytes(&format!("b{extension}.gz")));
        }
    }
}

mod any_format {
    use super::*;

    #[test]
    fn unknown_extensions_are_told_the_known_ones() {
        for name in ["a.csv", "a", "mtx", "a.gz", ".."] {
            let error = read(Path::new(name), &ReadOptions::default()).unwrap_err();
            assert_eq!(error.code, Code::Usage);
            let help = error.help.unwrap();
            assert!(EXTENSIONS.iter().all(|e| help.contains(e)) && help.contains(".gz"), "{help}");
            let scalar = DenseArray::new(vec![], vec![1.0].into()).unwrap();
            assert_eq!(write(Path::new(name), &scalar.into()).unwrap_err().code, Code::Usage);
        }
    }

    #[test]
    fn missing_files_and_folders_are_io_errors() {
        for extension in EXTENSIONS {
            let path = format!("does/not/exist{extension}");
            let error = read(Path::new(&path), &ReadOptions::default()).unwrap_err();
            assert_eq!(error.code, Code::Io);
            assert!(error.message.contains(&path), "{error}");
            let matrix = Entries::empty(&[1, 1], ValueType::F64);
            let error = write(Path::new(&path), &matrix.into()).unwrap_err();
            assert_eq!(error.code, Code::Io);
        }
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path().join("folder.mtx");
        fs::create_dir(&folder).unwrap();
        assert_eq!(read(&folder, &ReadOptions::default()).unwrap_err().code, Code::Io);
    }

    #[test]
    fn a_truncated_or_damaged_gz_is_a_data_error() {
        let text: String =
            (1..=2000).map(|k| format!("{k} {} {}\n", k * 7 % 93 + 1, k * k)).collect();
        let packed = gzip(text.as_bytes());
        let whole = read_text("a.tns.gz", &packed, &ReadOptions::default()).unwrap();
        assert_eq!(whole.loaded.stored(), 2000);
        for length in [1, 5, 12, packed.len() / 2, packed.len() - 1] {
            let error =
                read_text("a.tns.gz", &packed[..length], &ReadOptions::default()).unwrap_err();
            assert_eq!(error.code, Code::Data, "{error:?}");
            assert!(error.message.contains("truncated"), "{error:?}");
        }
        let mut damaged = packed.clone();
        damaged[packed.len() - 8] ^= 0x55;
        let error = read_text("a.tns.gz", &damaged, &ReadOptions::default()).unwrap_err();
        assert_eq!(error.code, Code::Data);
        assert!(error.message.contains("damaged"), "{error:?}");
        let error = read_text("a.mtx.gz", b"not gzip", &ReadOptions::default()).unwrap_err();
        assert_eq!(error.code, Code::Data);
    }

    #[test]
    fn several_gzip_members_are_one_file() {
        let packed = [gzip(b"1 1 5\n"), gzip(b"2 2 6\n")].concat();
        let file = read_text("a.tns.gz", &packed, &ReadOptions::default()).unwrap();
        assert_eq!(triples(&file.loaded), [(0, 0, 5.0), (1, 1, 6.0)]);
    }

    #[test]
    fn an_existing_file_stays_untouched_when_writing_fails() {
        let dir = tempfile::tempdir().unwrap();
        let cube: Loaded = Entries::from_points(&[2, 2, 2], &[(&[1, 1, 1], 1.0)]).unwrap().into();
        let scalar: Loaded = Entries::from_points(&[], &[(&[], 1.0)]).unwrap().into();
        let huge: Loaded = Entries::empty(&[1 << 40, 1 << 40], ValueType::F64).into();
        for (name, data) in
            [("a.mtx", &cube), ("a.npz", &scalar), ("a.npy", &huge), ("a.mtx.gz", &cube)]
        {
            let path = dir.path().join(name);
            fs::write(&path, "precious").unwrap();
            let error = write(&path, data).unwrap_err();
            assert_eq!(error.code, Code::Shape);
            assert!(error.help.is_some());
            assert_eq!(fs::read_to_string(&path).unwrap(), "precious");
        }
        // Nothing temporary is left behind either.
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 4);
    }

    #[cfg(unix)]
    #[test]
    fn a_replaced_file_keeps_its_permissions() {
        use std::os::unix::fs::PermissionsExt;
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.tns");
        let matrix: Loaded = Entries::from_points(&[2, 2], &[(&[1, 0], 3.0)]).unwrap().into();
        write(&path, &matrix).unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_ne!(mode(&path) & 0o044, 0, "as readable as other new files");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
        write(&path, &matrix).unwrap();
        assert_eq!(mode(&path), 0o640);
    }

    #[test]
    fn progress_ends_at_the_total() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.tns");
        fs::write(&path, "1 1 1\n".repeat(600_000)).unwrap();
        let (calls, last) = (Cell::new(0), Cell::new((0, 0)));
        let progress = |done, total| {
            assert!(done >= last.get().0);
            calls.set(calls.get() + 1);
            last.set((done, total));
        };
        let options = ReadOptions { progress: Some(&progress), ..Default::default() };
        read(&path, &options).unwrap();
        assert_eq!(last.get(), (3_600_000, 3_600_000));
        assert!((2..20).contains(&calls.get()), "{} calls", calls.get());
    }

    #[test]
    fn extents_that_contradict_the_file_are_refused() {
        let options = ReadOptions { dims: Some(vec![2, 3]), ..Default::default() };
        let text = b"%%MatrixMarket matrix coordinate real general\n2 2 0\n";
        assert_eq!(read_text("a.mtx", text, &options).unwrap_err().code, Code::Shape);
    }
}
