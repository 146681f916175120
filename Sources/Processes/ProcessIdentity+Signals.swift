import Glibc

extension ProcessIdentity {
    /// Sends a signal to this process, which need not be a child; never to another process that got its number.
    ///
    /// - Throws: `.noSuchProcess` when the process is gone, `.permissionDenied` when it belongs to another user.
    public func send(_ signal: Signal) throws(ProcessError) {
        try send(signal, systemCalls: .live)
    }

    func send(_ signal: Signal, systemCalls: SystemCalls) throws(ProcessError) {
        let action = "send \(signal) to process \(processID)"
        let descriptor: Int32
        switch open(systemCalls) {
        case .opened(let opened): descriptor = opened
        case .gone: throw ProcessError(ESRCH, action: action)
        case .failed(let errno): throw ProcessError(errno, action: action)
        }
        defer { systemCalls.close(descriptor) }
        let result = systemCalls.signalProcess(descriptor, signal.rawValue)
        guard result >= 0 else { throw ProcessError(-result, action: action) }
    }

    /// The result of opening a pidfd.
    enum Opened: Equatable {
        case opened(Int32)
        case gone
        case failed(errno: Int32)
    }

    /// Opens a pidfd of this process.
    ///
    /// The descriptor is opened first and the start time read afterwards: if the number still belongs to this process then, it did at the
    /// opening.
    func open(_ systemCalls: SystemCalls) -> Opened {
        guard processID > 0 else { return .gone }
        let descriptor = systemCalls.openProcess(processID)
        if SystemCalls.isGone(descriptor) { return .gone }
        guard descriptor >= 0 else { return .failed(errno: -descriptor) }
        do throws(ProcessError) {
            if try statistics(systemCalls) != nil { return .opened(descriptor) }
            systemCalls.close(descriptor)
            return .gone
        } catch {
            systemCalls.close(descriptor)
            return .failed(errno: error.errno)
        }
    }
}
