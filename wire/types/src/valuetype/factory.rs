//! What makes values of one type for the ORB to read into (`CORBA::ValueFactory`, CORBA 3.3 P1
//! §9.4.3). Asked for by `wire`; applications register them with the ORB.

use std::fmt;
use std::sync::Arc;

use corbie_cdr::{Decoder, Error};

use super::{ValueBase, ValueType};

/// Makes the values of one type. Cheap to clone.
#[derive(Clone)]
pub struct ValueFactory {
    of: &'static ValueType,
    make: Make,
}

#[derive(Clone)]
enum Make {
    /// A value without state, which then reads it.
    Empty(Arc<dyn Fn() -> Arc<dyn ValueBase> + Send + Sync>),
    /// A value with its state: a box.
    Read(fn(&mut Decoder<'_>) -> Result<Arc<dyn ValueBase>, Error>),
}

impl ValueFactory {
    /// Of a valuetype: `make` makes a value without state.
    pub fn new(
        of: &'static ValueType,
        make: impl Fn() -> Arc<dyn ValueBase> + Send + Sync + 'static,
    ) -> Self {
        Self { of, make: Make::Empty(Arc::new(make)) }
    }

    /// Of a value box: `read` reads what is in it.
    #[must_use]
    pub fn of_box(
        of: &'static ValueType,
        read: fn(&mut Decoder<'_>) -> Result<Arc<dyn ValueBase>, Error>,
    ) -> Self {
        Self { of, make: Make::Read(read) }
    }

    /// The type of its values.
    #[must_use]
    pub fn value_type(&self) -> &'static ValueType {
        self.of
    }

    /// Makes a value and reads its state; `known` is told of the value as soon as it is there.
    pub(super) fn read<'d>(
        &self,
        d: &mut Decoder<'d>,
        known: impl Fn(&mut Decoder<'d>, &Arc<dyn ValueBase>),
    ) -> Result<Arc<dyn ValueBase>, Error> {
        let value = match &self.make {
            Make::Empty(make) => {
                let value = make();
                known(d, &value);
                value.decode_state(d)?;
                value
            }
            Make::Read(read) => {
                let value = read(d)?;
                known(d, &value);
                value
            }
        };
        Ok(value)
    }
}

impl fmt::Debug for ValueFactory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ValueFactory({})", self.of.repository_id)
    }
}
