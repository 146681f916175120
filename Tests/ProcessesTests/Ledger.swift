import ConcurrencySupport
import Glibc
import Processes

/// The live system calls with bookkeeping: what is open, who was born; and one of them can be made to fail.
final class Ledger: Sendable {
    /// The calls that can fail.
    enum Call: String, CaseIterable, Sendable {
        case spawn, openProcess, statistics, pipe, makeFIFO, openFIFO, lockFile, duplicate, pollAdd, pollDescriptor, eventDescriptor,
            startThread
        case signalProcess, signalGroupOfProcess, signalGroup, reap, reapNumber, read, available, pollWait
    }

    /// Which call fails, from its how-manieth time on, and how.
    struct Fault: Sendable {
        var call: Call
        var number: Int
        var isForever: Bool
        var errno: Int32
    }

    private struct State {
        var open: Set<Int32> = []
        var strangersClosed: [Int32] = []
        var processIDs: [Int32] = []
        var fault: Fault?
        var count = 0
        var hits = 0
    }

    private let state = Lock(State())

    var openDescriptors: Set<Int32> { state.withLock { $0.open } }
    /// Descriptors that were closed without being ours: closed twice, probably.
    var strangersClosed: [Int32] { state.withLock { $0.strangersClosed } }
    var processIDs: [Int32] { state.withLock { $0.processIDs } }
    /// The number of times that a call was made to fail.
    var hits: Int { state.withLock { $0.hits } }

    func plan(_ fault: Fault?) {
        state.withLock { state in
            state.fault = fault
            state.count = 0
            state.hits = 0
        }
    }

    /// The negated error number if this call is to fail.
    private func failure(_ call: Call) -> Int32? {
        state.withLock { state in
            guard let fault = state.fault, fault.call == call else { return nil }
            state.count += 1
            guard fault.isForever ? state.count >= fault.number : state.count == fault.number else { return nil }
            state.hits += 1
            return -fault.errno
        }
    }

    private func opened(_ descriptor: Int32) -> Int32 {
        if descriptor >= 0 { state.withLock { _ = $0.open.insert(descriptor) } }
        return descriptor
    }

    var systemCalls: SystemCalls {
        let live = SystemCalls.live
        var calls = live
        calls.spawn = { [self] request in
            if let failure = failure(.spawn) { return SpawnedChild(processID: failure) }
            let spawned = live.spawn(request)
            if spawned.processID > 0 { state.withLock { $0.processIDs.append(spawned.processID) } }
            return spawned
        }
        calls.openProcess = { [self] in failure(.openProcess) ?? opened(live.openProcess($0)) }
        calls.statistics = { [self] in failure(.statistics).map { .failed(errno: -$0) } ?? live.statistics($0) }
        calls.pipe = { [self] in
            if let failure = failure(.pipe) { return (failure, -1) }
            let (reading, writing) = live.pipe()
            return (opened(reading), opened(writing))
        }
        calls.makeFIFO = { [self] path, size in
            if let failure = failure(.makeFIFO) { return (failure, -1) }
            let (reading, writing) = live.makeFIFO(path, size)
            return (opened(reading), opened(writing))
        }
        calls.datagramSocket = { [self] in opened(live.datagramSocket($0, $1)) }
        calls.openFIFO = { [self] in failure(.openFIFO) ?? opened(live.openFIFO($0)) }
        calls.lockFile = { [self] in failure(.lockFile) ?? opened(live.lockFile($0)) }
        calls.duplicate = { [self] in failure(.duplicate) ?? opened(live.duplicate($0, $1)) }
        calls.pollAdd = { [self] in failure(.pollAdd) ?? live.pollAdd($0, $1, $2) }
        calls.pollDescriptor = { [self] in failure(.pollDescriptor) ?? opened(live.pollDescriptor()) }
        calls.eventDescriptor = { [self] in failure(.eventDescriptor) ?? opened(live.eventDescriptor()) }
        calls.startThread = { [self] in failure(.startThread) ?? live.startThread($0) }
        calls.signalProcess = { [self] in failure(.signalProcess) ?? live.signalProcess($0, $1) }
        calls.signalGroupOfProcess = { [self] in failure(.signalGroupOfProcess) ?? live.signalGroupOfProcess($0, $1) }
        calls.signalGroup = { [self] in failure(.signalGroup) ?? live.signalGroup($0, $1) }
        calls.reap = { [self] in failure(.reap).map { .failed(errno: -$0) } ?? live.reap($0) }
        calls.reapNumber = { [self] in failure(.reapNumber) ?? live.reapNumber($0, $1) }
        calls.read = { [self] in failure(.read).map(Int.init) ?? live.read($0, $1) }
        calls.available = { [self] in failure(.available) ?? live.available($0) }
        calls.pollWait = { [self] in failure(.pollWait) ?? live.pollWait($0, $1, $2) }
        calls.close = { [self] descriptor in
            state.withLock { state in
                if state.open.remove(descriptor) == nil { state.strangersClosed.append(descriptor) }
                // Under the lock: the number may be given out again at once.
                live.close(descriptor)
            }
        }
        return calls
    }
}
