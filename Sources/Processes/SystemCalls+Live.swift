import CProcess
import Glibc

extension SystemCalls {
    /// The kernel's own calls.
    package static let live = SystemCalls(
        spawn: { $0.run() },
        openProcess: { coordinator_process_open($0) },
        signalProcess: { coordinator_process_signal($0, $1) },
        signalGroupOfProcess: { coordinator_process_signal_group($0, $1) },
        signalGroup: { groupID, signal in
            // To kill(2), 0 means the caller's own group and -1 all processes.
            guard groupID > 1 else { return -EINVAL }
            return kill(-groupID, signal) < 0 ? -Glibc.errno : 0
        },
        reap: { descriptor in
            var exit = coordinator_process_exit()
            let result = coordinator_process_reap(descriptor, &exit)
            return Reaped(result, exit)
        },
        foreignExit: { descriptor in
            var exit = coordinator_process_exit()
            let result = coordinator_process_foreign_exit(descriptor, &exit)
            return Reaped(result, exit)
        },
        reapNumber: { coordinator_process_reap_number($0, $1 ? 1 : 0) },
        statistics: { processID in
            var result = 0
            let bytes = [UInt8](unsafeUninitializedCapacity: 1024) { buffer, count in
                result = coordinator_process_read_file("/proc/\(processID)/stat", buffer.baseAddress, buffer.count)
                count = max(0, result)
            }
            if result < 0 { return Contents(failure: result) }
            return bytes.isEmpty ? .absent : .bytes(bytes)
        },
        pipe: {
            var reading: Int32 = -1
            var writing: Int32 = -1
            let result = coordinator_process_pipe(&reading, &writing)
            return result < 0 ? (result, -1) : (reading, writing)
        },
        makeFIFO: { path, size in
            var reading: Int32 = -1
            var writing: Int32 = -1
            let result = coordinator_process_make_fifo(path, size, &reading, &writing)
            return result < 0 ? (result, -1) : (reading, writing)
        },
        datagramSocket: { coordinator_process_datagram_socket($0, $1) },
        openFIFO: { coordinator_process_open_fifo($0) },
        lockFile: { coordinator_process_lock_file($0) },
        unlink: { _ = Glibc.unlink($0) },
        duplicate: { coordinator_process_duplicate($0, $1) },
        close: { _ = Glibc.close($0) },
        read: { coordinator_process_read($0, $1.baseAddress, $1.count) },
        available: { coordinator_process_available($0) },
        eventDescriptor: { coordinator_process_event_descriptor() },
        wake: { descriptor in
            var one: UInt64 = 1
            // The only failure is a full counter, and that wakes too.
            _ = write(descriptor, &one, 8)
        },
        pollDescriptor: { coordinator_process_poll_descriptor() },
        pollAdd: { coordinator_process_poll_add($0, $1, $2) },
        pollRemove: { _ = coordinator_process_poll_remove($0, $1) },
        pollWait: { coordinator_process_poll_wait($0, $1.baseAddress, Int32($1.count), $2) },
        descriptorUsage: { (ResourceLimits.openDescriptorCount, ResourceLimits.softLimit) },
        startThread: { thread in
            // Unsafe: pthread_create takes one pointer. The thread takes the reference back, or this function does when there is no thread.
            let reference = Unmanaged.passRetained(thread)
            let result = coordinator_process_start_thread(
                { context in
                    guard let context else { return }
                    Unmanaged<ProcessThread>.fromOpaque(context).takeRetainedValue().run()
                },
                reference.toOpaque()
            )
            if result < 0 { reference.release() }
            return result
        }
    )

    /// Reads the kernel's data about a process; nil when there is none to be seen.
    ///
    /// - Throws: An error when the data could not be read.
    func parsedStatistics(of processID: Int32) throws(ProcessError) -> ProcessStatistics? {
        guard processID > 0 else { return nil }
        switch statistics(processID) {
        case .bytes(let bytes): return ProcessStatistics(parsing: bytes)
        case .absent, .hidden: return nil
        case .failed(let errno): throw ProcessError(errno, action: "look at process \(processID)")
        }
    }
}

extension SystemCalls.Reaped {
    /// - Parameter result: 1 when the process has ended, 0 when it hasn't, or a negated errno.
    fileprivate init(_ result: Int32, _ exit: coordinator_process_exit) {
        self =
            switch result {
            case 1 where exit.signal == 0: .ended(.exited(code: exit.code))
            case 1: .ended(.signaled(Signal(rawValue: exit.signal), coreDumped: exit.core_dumped != 0))
            case 0: .stillRunning
            default: .failed(errno: -result)
            }
    }
}
