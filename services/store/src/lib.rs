//! What services keep in a redb file: opened again after the disk has failed, and clear about what
//! a failure leaves behind.
//!
//! After one read or write that failed, redb refuses all until the file is opened again; a service
//! would be dead for changes because its disk was full for a second. [`StoreFile`] opens it again,
//! once for an operation. A transaction that failed before its commit changed nothing; one whose
//! commit failed may be found when the file is opened again: [`StoreFailure`] tells them apart.
//!
//! Used by the naming server's embedded store, by the table of durable event channels, and by the
//! databases and the journal of MSHN.

// layers: failure < file
mod failure;
mod file;

pub use failure::StoreFailure;
pub use file::StoreFile;
pub use redb;
