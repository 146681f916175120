import CProcess

/// A pipe whose reading end is meant for a child.
///
/// Both ends are close-on-exec from their creation: a fork elsewhere in the program at the same moment inherits neither. The creator closes
/// them.
package struct InheritablePipe: Sendable {
    package let reader: Int32
    package let writer: Int32

    package init() throws(ProcessError) {
        var (reader, writer): (Int32, Int32) = (-1, -1)
        let result = coordinator_process_blocking_pipe(&reader, &writer)
        guard result >= 0 else { throw ProcessError(-result, action: "open a pipe") }
        (self.reader, self.writer) = (reader, writer)
    }
}
