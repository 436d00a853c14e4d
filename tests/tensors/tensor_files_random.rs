//! Tensor files, at random: whatever is written reads back exactly, whatever is read never panics.

use std::fs;
use std::io::Write;
use std::path::Path;

use proptest::prelude::*;
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

/// Entries of every value type; floats include all bit patterns but NaN (which differs from
/// itself).
fn values(n: usize) -> impl Strategy<Value = Values> {
    let number = any::<u64>().prop_map(f64::from_bits);
    let number = number.prop_filter("not NaN", |x| !x.is_nan());
    let number32 = any::<u32>().prop_map(f32::from_bits);
    let number32 = number32.prop_filter("not NaN", |x| !x.is_nan());
    prop_oneof![
        prop::collection::vec(number, n).prop_map(Values::F64),
        prop::collection::vec(number32, n).prop_map(Values::F32),
        prop::collection::vec(any::<i64>(), n).prop_map(Values::I64),
        prop::collection::vec(any::<i32>(), n).prop_map(Values::I32),
        prop::collection::vec(any::<u8>(), n).prop_map(Values::U8),
        prop::collection::vec(any::<bool>(), n).prop_map(Values::Bool),
    ]
}

fn entries(rank: usize) -> impl Strategy<Value = Entries> {
    let dims = prop::collection::vec(1usize..6, rank);
    (dims, 0usize..12).prop_flat_map(|(dims, n)| {
        let columns: Vec<_> =
            dims.iter().map(|&extent| prop::collection::vec(0..extent as u32, n)).collect();
        (Just(dims), columns, values(n)).prop_map(|(dims, columns, values)| {
            let coords = columns.into_iter().map(IndexData::U32).collect();
            Entries::new(dims, coords, values).unwrap()
        })
    })
}

fn round_trip(name: &str, data: &Loaded) -> Loaded {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join(name);
    write(&path, data).unwrap();
    let options = ReadOptions {
        dims: Some(data.dims().to_vec()),
        value_type: Some(data.value_type()),
        ..ReadOptions::default()
    };
    read(&path, &options).unwrap().loaded
}

proptest! {
    #[test]
    fn sparse_files_read_back_exactly(matrix in entries(2), cube in entries(3)) {
        for name in ["a.mtx", "a.tns", "a.npz", "a.mtx.gz", "a.tns.gz", "a.npz.gz"] {
            let data = Loaded::Entries(matrix.clone());
            prop_assert_eq!(round_trip(name, &data), data);
        }
        for name in ["a.tns", "a.tns.gz"] {
            let data = Loaded::Entries(cube.clone());
            prop_assert_eq!(round_trip(name, &data), data);
        }
    }

    #[test]
    fn dense_files_read_back_exactly(values in (0usize..4, 0usize..4).prop_flat_map(|(m, n)| {
        (Just([m, n]), values(m * n))
    })) {
        let ([m, n], values) = values;
        let data = Loaded::Dense(DenseArray::new(vec![m, n], values.clone()).unwrap());
        for name in ["a.npy", "a.npy.gz", "a.mtx", "a.mtx.gz"] {
            prop_assert_eq!(round_trip(name, &data), data.clone());
        }
        let cube = Loaded::Dense(DenseArray::new(vec![n, 1, m], values).unwrap());
        prop_assert_eq!(round_trip("a.npy", &cube), cube);
    }

    #[test]
    fn random_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        for extension in EXTENSIONS {
            for suffix in ["", ".gz"] {
                let name = format!("a{extension}{suffix}");
                let _ = read_text(&name, &bytes, &ReadOptions::default());
            }
        }
    }

    #[test]
    fn texts_that_look_like_files_never_panic(
        text in "[0-9 %#.eE+\\-\nnaif]{0,120}",
        storage in "coordinate|array",
        field in "real|integer|pattern",
        symmetry in "general|symmetric|skew-symmetric",
        sizes in "[0-4] [0-4]( [0-9])?|[0-9]{1,21} [0-9]{1,21}( [0-9]{1,21})?",
        value_type in prop::sample::select(ValueType::ALL.to_vec()),
    ) {
        let options = ReadOptions { value_type: Some(value_type), ..Default::default() };
        let header = format!("%%MatrixMarket matrix {storage} {field} {symmetry}\n{sizes}\n");
        let _ = read_text("a.mtx", format!("{header}{text}").as_bytes(), &options);
        let _ = read_text("a.tns", text.as_bytes(), &options);
    }

    #[test]
    fn damaged_archives_never_panic(
        name in prop::sample::select(vec![
            "csr.npz", "csc.npz", "coo.npz", "bsr.npz", "dia.npz", "csr_stored.npz",
            "csr_array_1d.npz", "coo_array_3d.npz", "fortran_f8.npy",
        ]),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
    ) {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/scipy").join(name);
        let mut bytes = fs::read(path).unwrap();
        for (index, byte) in changes {
            let at = index.index(bytes.len());
            bytes[at] = byte;
        }
        let _ = read_text(name, &bytes, &ReadOptions::default());
    }

    /// Members that are well-formed arrays but contradict each other, behind right checksums.
    #[test]
    fn contradictory_archives_never_panic(
        format in "csr|csc|coo|bsr|dia|lil",
        shape in prop::collection::vec(-1i64..5, 0..4),
        data in prop::collection::vec(-1i32..5, 0..5),
        pointers in prop::collection::vec(-1i32..5, 0..5),
        indices in prop::collection::vec(prop_oneof![-1i64..5, any::<i64>()], 0..5),
        blocks in prop::collection::vec(0usize..3, 1..4),
    ) {
        let mut zip = npyz::npz::NpzWriter::new(std::io::Cursor::new(Vec::new()));
        let mut add = |name: &str, dims: &[usize], values: Values, word: Option<&str>| {
            zip.zip_writer().start_file(format!("{name}.npy"), Default::default()).unwrap();
            let (kind, bytes): (String, Vec<u8>) = match (&values, word) {
                (_, Some(word)) => (format!("|S{}", word.len()), word.into()),
                (Values::I32(v), _) => {
                    ("<i4".into(), v.iter().flat_map(|x| x.to_le_bytes()).collect())
                }
                (Values::I64(v), _) => {
                    ("<i8".into(), v.iter().flat_map(|x| x.to_le_bytes()).collect())
                }
                _ => unreachable!(),
            };
            let shape: String = dims.iter().map(|n| format!("{n},")).collect();
            let text = format!("{{'descr':'{kind}','fortran_order':False,'shape':({shape})}}");
            let out = zip.zip_writer();
            out.write_all(b"\x93NUMPY\x01\x00").unwrap();
            out.write_all(&(text.len() as u16).to_le_bytes()).unwrap();
            out.write_all(text.as_bytes()).unwrap();
            out.write_all(&bytes).unwrap();
        };
        let n_blocks: usize = blocks.iter().product();
        let data = if blocks.len() > 1 { data.iter().copied().cycle().take(n_blocks).collect() } else { data };
        let data_dims = if blocks.len() > 1 && data.len() == n_blocks { blocks } else { vec![data.len()] };
        add("format", &[], Values::I32(vec![]), Some(&format));
        add("shape", &[shape.len()], Values::I64(shape), None);
        add("data", &data_dims, Values::I32(data), None);
        for key in ["indptr", "row"] {
            add(key, &[pointers.len()], Values::I32(pointers.clone()), None);
        }
        for key in ["indices", "col", "offsets"] {
            add(key, &[indices.len()], Values::I64(indices.clone()), None);
        }
        let bytes = zip.zip_writer().finish().unwrap().into_inner();
        if let Err(error) = read_text("a.npz", &bytes, &ReadOptions::default()) {
            prop_assert!(matches!(error.code, Code::Data | Code::Shape), "{:?}", error);
        }
    }
}
