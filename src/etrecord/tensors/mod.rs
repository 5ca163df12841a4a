//! Weights and constants of a record, read on demand and a few slices at a time.
//!
//! Each is a `torch.save` archive inside the record: a zip with a pickle that says which
//! tensor lies where, and the raw bytes of each storage beside it.

pub mod pickle;
pub mod summary;

use std::rc::Rc;

use rustc_hash::FxHashMap;

use crate::archive::{Archive, Packing};
use crate::error::{Code, Error, Result};
use crate::limits;
use crate::source::{ByteSource, Part, Windowed};
use pickle::{Item, Pickle};
pub use summary::{Histogram, Summary};

/// How a number is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Element {
    /// IEEE 754, 8 bytes.
    F64,
    /// IEEE 754, 4 bytes.
    F32,
    /// IEEE 754, 2 bytes.
    F16,
    /// The upper half of an F32.
    Bf16,
    /// 4 bits of exponent, no infinities.
    F8E4M3Fn,
    /// 5 bits of exponent.
    F8E5M2,
    /// Signed integer of so many bytes.
    Int(u8),
    /// Unsigned integer of so many bytes.
    Uint(u8),
    /// One byte, 0 is false.
    Bool,
}

impl Element {
    /// Bytes of one number.
    pub fn size(self) -> u64 {
        match self {
            Element::F64 => 8,
            Element::F32 => 4,
            Element::F16 | Element::Bf16 => 2,
            Element::F8E4M3Fn | Element::F8E5M2 | Element::Bool => 1,
            Element::Int(bytes) | Element::Uint(bytes) => u64::from(bytes),
        }
    }

    /// By the name of a storage class or a dtype: `FloatStorage`, `float32`.
    fn named(name: &str) -> Option<Element> {
        Some(match name {
            "DoubleStorage" | "float64" | "double" => Element::F64,
            "FloatStorage" | "float32" | "float" => Element::F32,
            "HalfStorage" | "float16" | "half" => Element::F16,
            "BFloat16Storage" | "bfloat16" => Element::Bf16,
            "float8_e4m3fn" => Element::F8E4M3Fn,
            "float8_e5m2" => Element::F8E5M2,
            "LongStorage" | "int64" | "long" => Element::Int(8),
            "IntStorage" | "int32" | "int" => Element::Int(4),
            "ShortStorage" | "int16" | "short" => Element::Int(2),
            "CharStorage" | "int8" => Element::Int(1),
            "ByteStorage" | "uint8" => Element::Uint(1),
            "uint16" => Element::Uint(2),
            "uint32" => Element::Uint(4),
            "uint64" => Element::Uint(8),
            "BoolStorage" | "bool" => Element::Bool,
            _ => return None,
        })
    }

    /// The dtype as PyTorch calls it.
    pub fn name(self) -> &'static str {
        match self {
            Element::F64 => "float64",
            Element::F32 => "float32",
            Element::F16 => "float16",
            Element::Bf16 => "bfloat16",
            Element::F8E4M3Fn => "float8_e4m3fn",
            Element::F8E5M2 => "float8_e5m2",
            Element::Int(1) => "int8",
            Element::Int(2) => "int16",
            Element::Int(4) => "int32",
            Element::Int(_) => "int64",
            Element::Uint(1) => "uint8",
            Element::Uint(2) => "uint16",
            Element::Uint(4) => "uint32",
            Element::Uint(_) => "uint64",
            Element::Bool => "bool",
        }
    }
}

/// Where a tensor lies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Layout {
    /// Name of its storage: `data/{key}` in the archive.
    pub key: Box<str>,
    /// How its numbers are stored.
    pub element: Element,
    /// First number, counted in numbers from the start of the storage.
    pub offset: u64,
    /// Sizes.
    pub shape: Vec<u64>,
    /// Distance between neighbours of each dimension, counted in numbers.
    pub strides: Vec<u64>,
}

impl Layout {
    /// How many numbers it has; `None` when that overflows.
    pub fn count(&self) -> Option<u64> {
        self.shape.iter().try_fold(1_u64, |n, size| n.checked_mul(*size))
    }

    /// How many numbers of the storage lie between its first and its last; 0 for none.
    fn span(&self) -> Option<u64> {
        if self.count()? == 0 {
            return Some(0);
        }
        let mut last = 0_u64;
        for (size, stride) in self.shape.iter().zip(&self.strides) {
            last = last.checked_add(size.checked_sub(1)?.checked_mul(*stride)?)?;
        }
        last.checked_add(1)
    }

    /// Where number `index` in order of the shape lies, from the first one.
    fn place(&self, mut index: u64) -> u64 {
        let mut place = 0_u64;
        for (size, stride) in self.shape.iter().zip(&self.strides).rev() {
            if *size > 0 {
                place = place.saturating_add((index % size).saturating_mul(*stride));
                index /= size;
            }
        }
        place
    }
}

/// An open `torch.save` archive.
pub struct TensorArchive {
    archive: std::cell::RefCell<Archive>,
    source: Rc<dyn ByteSource>,
    prefix: String,
    tensors: FxHashMap<Box<str>, std::result::Result<Layout, Box<str>>>,
}

impl std::fmt::Debug for TensorArchive {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TensorArchive").field("tensors", &self.tensors.len()).finish_non_exhaustive()
    }
}

impl TensorArchive {
    /// Opens the archive that is an entry of a record.
    ///
    /// # Errors
    /// [`Code::NotFound`] when the record has no such entry; [`Code::BadEntry`] when it is no
    /// archive that `torch.save` writes; [`Code::LimitReached`] when it is packed and large.
    pub fn open(record: Rc<dyn ByteSource>, name: &str) -> Result<Self> {
        let record: Rc<dyn ByteSource> = Rc::new(Windowed::new(record));
        let mut outer = Archive::open(record.clone())?;
        let entry = outer.locate(name)?;
        let source: Rc<dyn ByteSource> = match entry.packing {
            Packing::Stored => Rc::new(Windowed::new(Part::new(record, entry.offset, entry.packed)?)),
            Packing::Deflated => Rc::new(outer.read(name).map_err(|e| {
                e.advise("Weights are read from records whose entries are stored, as ExecuTorch writes them.")
            })?),
        };
        Self::read(source).map_err(|e| e.at(name))
    }

    fn read(source: Rc<dyn ByteSource>) -> Result<Self> {
        let mut archive = Archive::open(source.clone())?;
        let pickle = archive.names().iter().find(|n| n.ends_with("/data.pkl") || *n == "data.pkl").cloned();
        let Some(name) = pickle else {
            return Err(Error::new(Code::BadEntry, "it holds no data.pkl, so it is not an archive of torch.save"));
        };
        let prefix = name.trim_end_matches("data.pkl").to_owned();
        let order = format!("{prefix}byteorder");
        if archive.names().contains(&order) && archive.read(&order)?.trim_ascii() == b"big" {
            return Err(Error::new(Code::BadEntry, "it was saved on a big-endian machine"));
        }
        if archive.locate(&name)?.size > limits::PICKLE_BYTES {
            return Err(Error::new(
                Code::LimitReached,
                format!("its pickle has more than {} bytes", limits::PICKLE_BYTES),
            ));
        }
        let pickle = Pickle::parse(&archive.read(&name)?).map_err(|e| e.at(name.clone()))?;
        let tensors = tensors(&pickle);
        Ok(TensorArchive { archive: archive.into(), source, prefix, tensors })
    }

    /// The names of the tensors, in no order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.tensors.keys().map(|name| &**name)
    }

    /// Where a tensor lies.
    ///
    /// # Errors
    /// [`Code::NotFound`] when there is none of that name; [`Code::BadEntry`] when it is of a kind
    /// that cannot be read.
    pub fn layout(&self, name: &str) -> Result<&Layout> {
        match self.tensors.get(name) {
            Some(Ok(layout)) => Ok(layout),
            Some(Err(reason)) => Err(Error::new(Code::BadEntry, reason.to_string()).at(name)),
            None => Err(Error::new(Code::NotFound, "the record holds no values of it").at(name)),
        }
    }

    /// First values and statistics of a tensor. Of one larger than [`limits::TENSOR_SAMPLE_BYTES`]
    /// a sample is read: slices spread evenly over it.
    ///
    /// # Errors
    /// As [`Self::layout`]; [`Code::BadEntry`] when it does not lie inside its storage.
    pub fn summary(&self, name: &str) -> Result<Summary> {
        let layout = self.layout(name)?;
        let outside = || Error::new(Code::BadEntry, "the tensor does not lie inside its storage").at(name.to_owned());
        let (count, span) = (layout.count().ok_or_else(outside)?, layout.span().ok_or_else(outside)?);
        let entry = self.archive.borrow_mut().locate(&format!("{}data/{}", self.prefix, layout.key))?;
        if entry.packing != Packing::Stored {
            return Err(Error::new(Code::BadEntry, "its numbers are packed, which torch.save never does").at(name));
        }
        let size = layout.element.size();
        let end = layout.offset.checked_add(span).and_then(|n| n.checked_mul(size)).ok_or_else(outside)?;
        if end > entry.size {
            return Err(outside());
        }
        let data = Part::new(self.source.clone(), entry.offset + layout.offset * size, span * size)?;
        summary::summarize(layout, count, span, &data).map_err(|e| e.at(name))
    }
}

/// The tensors of the dict that the pickle is, by name; a reason for those that cannot be read.
fn tensors(pickle: &Pickle) -> FxHashMap<Box<str>, std::result::Result<Layout, Box<str>>> {
    let mut out = FxHashMap::default();
    for (key, value) in pickle.entries(pickle.root()) {
        if let Some(Item::Text(name)) = pickle.get(key) {
            out.insert(name.clone(), layout(pickle, value).map_err(Into::into));
        }
    }
    out
}

fn layout(pickle: &Pickle, mut at: usize) -> std::result::Result<Layout, String> {
    // A parameter is a tensor in a wrapper; wrappers are never deep.
    for _ in 0..4 {
        let Some(Item::Call { callable, arguments, .. }) = pickle.get(at) else {
            return Err("it is not a tensor".to_owned());
        };
        let function = pickle.global(*callable).unwrap_or("unknown");
        let arguments = pickle.items(*arguments);
        match function.rsplit(' ').next().unwrap_or(function) {
            "_rebuild_parameter" | "_rebuild_parameter_with_state" => {
                at = *arguments.first().ok_or("the parameter is empty")?;
            }
            "_rebuild_tensor_v2" => return plain(pickle, arguments, None),
            "_rebuild_tensor_v3" => {
                let dtype = arguments.get(6).and_then(|dtype| pickle.global(*dtype));
                return plain(pickle, arguments, dtype);
            }
            other => return Err(format!("it is made by {other}, which is not read")),
        }
    }
    Err("it is wrapped too deeply".to_owned())
}

fn plain(pickle: &Pickle, arguments: &[usize], dtype: Option<&str>) -> std::result::Result<Layout, String> {
    let [storage, offset, shape, strides, ..] = arguments else { return Err("its record is cut off".to_owned()) };
    let Some(Item::Persistent(id)) = pickle.get(*storage) else { return Err("it has no storage".to_owned()) };
    let [_, class, key, ..] = pickle.items(*id) else { return Err("its storage has no name".to_owned()) };
    let class = pickle.global(*class).unwrap_or("unknown");
    let kind = dtype.unwrap_or(class);
    let name = kind.rsplit([' ', '.']).next().unwrap_or(kind);
    let element = Element::named(name).ok_or_else(|| format!("numbers of the kind {name} are not read"))?;
    let Some(Item::Text(key)) = pickle.get(*key) else { return Err("its storage has no name".to_owned()) };
    let number = |at: &usize| match pickle.get(*at) {
        Some(Item::Int(n)) => u64::try_from(*n).map_err(|_| "a size of it is negative".to_owned()),
        _ => Err("a size of it is no number".to_owned()),
    };
    let list = |at: &usize| pickle.items(*at).iter().map(number).collect::<std::result::Result<Vec<u64>, _>>();
    let layout =
        Layout { key: key.clone(), element, offset: number(offset)?, shape: list(shape)?, strides: list(strides)? };
    if layout.shape.len() != layout.strides.len() {
        return Err("its shape and strides differ in length".to_owned());
    }
    Ok(layout)
}
