//! The edge to documents: what is read and written, in buffers and on disk.
