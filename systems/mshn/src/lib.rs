//! MSHN, the Management System for Heterogeneous Networks: a resource management system whose
//! components talk over CORBA (paper MSHN).
//!
//! [`schedule`] is what its Scheduling Advisor decides with: which machine runs which task. It
//! knows nothing of CORBA and can be used alone, as `corbie mshn schedule` does.
#![forbid(unsafe_code)]

pub mod schedule;
