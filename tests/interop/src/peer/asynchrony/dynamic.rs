//! The servant without generated code: operations, types and exceptions by name and TypeCode.
//! Activated by `host`.

use super::{State, base, pass, work};
use crate::idl::asynchrony::calls::WorkError;
use crate::idl::asynchrony::{Calls, Item, Nothing, NumbersIdl, Refused};
use corbie::{
    ARG_IN, ARG_INOUT, Any, DynamicImplementation, DynamicServerRequest, NvList, SystemException,
    TypeCode, Typed,
};
use std::sync::Arc;

/// A `Calls` that knows its operations at run time only, and not all of them.
#[derive(Default)]
pub(super) struct Dynamic {
    pub(super) state: Arc<State>,
}

type Outcome = Result<(), SystemException>;
type Request<'q, 'r> = DynamicServerRequest<'q, 'r>;

/// The values of arguments that are all `in`.
fn take<const N: usize>(
    request: &mut Request<'_, '_>,
    types: [TypeCode; N],
) -> Result<[Any; N], SystemException> {
    let mut list = NvList::new();
    for type_code in types {
        list.add_item("", type_code, ARG_IN);
    }
    let list = request.arguments(list)?;
    Ok(std::array::from_fn(|i| list[i].value().clone()))
}

impl DynamicImplementation for Dynamic {
    fn primary_interface(&self) -> &str {
        <Calls as corbie::Interface>::REPOSITORY_ID
    }

    fn invoke(&self, request: &mut Request<'_, '_>) -> Outcome {
        match request.operation() {
            "_get_level" | "_set_level" | "_get_title" => self.attribute(request),
            "tell" | "told" | "forget" => self.telling(request),
            "work" => Self::work(request),
            "from_base" => {
                let [number] = take(request, [TypeCode::LONG])?;
                request.set_result(Any::string(&base(number.extract::<i32>()?))?)
            }
            "pause" => take(request, []).map(drop),
            "delayed" => {
                let [number, time] = take(request, [TypeCode::LONG, TypeCode::ULONG])?;
                pass(time.extract::<u32>()?);
                request.set_result(number)
            }
            "echo" => {
                let [value] = take(request, [TypeCode::ANY])?;
                request.set_result(value)
            }
            _ => Err(request.unknown_operation()),
        }
    }
}

impl Dynamic {
    fn attribute(&self, request: &mut Request<'_, '_>) -> Outcome {
        match request.operation() {
            "_get_level" => {
                take(request, [])?;
                request.set_result(Any::from_value::<i32>(&self.state.level())?)
            }
            "_set_level" => {
                let [level] = take(request, [TypeCode::LONG])?;
                self.state.set_level(level.extract::<i32>()?)
            }
            _ => {
                take(request, [])?;
                request.set_result(Any::string("asynchrony")?)
            }
        }
    }

    fn telling(&self, request: &mut Request<'_, '_>) -> Outcome {
        match request.operation() {
            "tell" => {
                let [number, time] = take(request, [TypeCode::LONG, TypeCode::ULONG])?;
                self.state.tell(number.extract::<i32>()?, time.extract::<u32>()?)
            }
            "told" => {
                let mut list = NvList::new();
                list.add_out("in_order", TypeCode::BOOLEAN);
                let list = request.arguments(list)?;
                let (count, in_order) = self.state.told();
                list[0].set_value(Any::from_value::<bool>(&in_order)?)?;
                request.set_result(Any::from_value::<i32>(&count)?)
            }
            _ => {
                take(request, [])?;
                self.state.forget();
                Ok(())
            }
        }
    }

    fn work(request: &mut Request<'_, '_>) -> Outcome {
        let mut list = NvList::new();
        list.add_item("number", TypeCode::LONG, ARG_IN);
        list.add_item("some", NumbersIdl::type_code(), ARG_INOUT);
        list.add_out("text", TypeCode::string(0));
        let list = request.arguments(list)?;
        let number = list[0].value().extract::<i32>()?;
        let some = list[1].value().extract::<NumbersIdl>()?;
        match work(number, &some) {
            Ok((item, some, text)) => {
                list[1].set_value(Any::from_value::<NumbersIdl>(&some)?)?;
                list[2].set_value(Any::string(&text)?)?;
                request.set_result(Any::from_value::<Item>(&item)?)
            }
            Err(WorkError::Refused(e)) => request.set_exception(Any::from_value::<Refused>(&e)?),
            Err(WorkError::Nothing(e)) => request.set_exception(Any::from_value::<Nothing>(&e)?),
            Err(WorkError::System(e)) => Err(e),
        }
    }
}
