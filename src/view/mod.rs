//! What is drawn: lines and marks.
