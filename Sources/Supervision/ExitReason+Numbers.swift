extension ExitReason {
    /// The exit code of the child's process; nil: it hasn't ended with one, or that isn't known.
    package var exitCode: Int32? { if case .exited(let code) = self, code >= 0 { code } else { nil } }

    /// The number of the signal that has ended the child's process; nil: none has, or that isn't known.
    package var signal: Int32? { if case .signaled(let signal) = self { signal } else { nil } }
}
