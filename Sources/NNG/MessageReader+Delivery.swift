internal import CNNG
import ConcurrencySupport
internal import Synchronization

extension MessageReader {
    private enum Next {
        case message([UInt8])
        case incomplete
        case invalid(NNGError.Code)
    }

    /// The action that ends a turn, carried out after the lock is released.
    private enum Action {
        case again
        case read(UnsafeMutableRawBufferPointer)
        case give(Waiter, Result<[UInt8], NNGError>)
        /// The consumer goes along because its closures may not be released under the lock: they may own the connection, whose end takes it.
        case end(Consumer, NNGError)
        case close
        case nothing
    }

    /// Delivers the messages that have arrived to the consumer, then reads on.
    ///
    /// The caller holds the turn, which this gives back.
    func deliver() {
        var head = 0
        var large: LargeMessage?
        while true {
            let (tail, consumer) = state.withLock { state in
                state.lookAgain = false
                state.large?.advance(by: state.largeCount)
                state.largeCount = 0
                head = state.head
                large = state.large
                return (state.tail, state.consumer)
            }
            var message: [UInt8]?
            var violation: NNGError.Code?
            switch consumer {
            case .none, .finished:
                break
            case .waiter:
                message = state.withLock { $0.ready.take() }
                if message == nil, !closedHere.load(ordering: .acquiring) {
                    switch next(&head, tail, &large) {
                    case .message(let body): message = body
                    case .incomplete: break
                    case .invalid(let code): violation = code
                    }
                }
            case .callbacks(let onMessage, _):
                violation = deliverAll(&head, tail, &large, to: onMessage)
            }
            switch settle(head, large, message, violation) {
            case .again:
                continue
            case .read(let target):
                return read(into: target)
            case .give(let waiter, let result):
                // Nothing can be sent any more when the waiter hears of the end.
                if case .failure = result { handle.close() }
                waiter.resume(returning: result)
                // The turn is still held: the next message may have a consumer, or there is room to read.
                continue
            case .end(let consumer, let reason):
                handle.close()
                if case .callbacks(_, let onClose) = consumer { onClose(reason) }
                return
            case .close:
                return handle.close()
            case .nothing:
                return
            }
        }
    }

    private func deliverAll(_ head: inout Int, _ tail: Int, _ large: inout LargeMessage?, to onMessage: OnMessage) -> NNGError.Code? {
        if let message = state.withLock({ $0.ready.take() }) {
            onMessage(message)
        }
        while !closedHere.load(ordering: .acquiring) {
            switch next(&head, tail, &large) {
            case .message(let body): onMessage(body)
            case .incomplete: return nil
            case .invalid(let code): return code
            }
        }
        return nil
    }

    /// Takes the message at `head` out of the buffer, if all of it is there.
    @inline(__always)
    private func next(_ head: inout Int, _ tail: Int, _ large: inout LargeMessage?) -> Next {
        if large == nil {
            let unread = UnsafeRawBufferPointer(rebasing: buffer[head..<tail])
            switch PairFraming.parse(unread, maximum: maximumMessageSize.load(ordering: .relaxed)) {
            case .incomplete:
                return .incomplete
            case .invalid(let code):
                return .invalid(code)
            case .message(let length):
                let end = PairFraming.headerLength + length
                if end <= Self.bufferSize {
                    guard end <= unread.count else { return .incomplete }
                    head += end
                    return .message([UInt8](UnsafeRawBufferPointer(rebasing: unread[PairFraming.headerLength..<end])))
                }
                head += PairFraming.headerLength
                large = LargeMessage(length: length, reservation?(length))
            }
        }
        guard let body = large else { return .incomplete }
        head += body.append(UnsafeRawBufferPointer(rebasing: buffer[head..<tail]))
        guard body.isComplete else { return .incomplete }
        large = nil
        return .message(body.body)
    }

    /// Writes the result of one round into the state and decides how to go on.
    ///
    /// Gives the turn back, unless the result is to continue with it.
    private func settle(_ head: Int, _ large: LargeMessage?, _ message: [UInt8]?, _ violation: NNGError.Code?) -> Action {
        state.withLock { state in
            state.head = head
            state.large = large
            if let violation, state.end == nil { state.end = error(violation) }
            if let message {
                guard case .waiter(let waiter, _) = state.consumer else {
                    state.ready = message
                    return .again
                }
                state.consumer = .none
                return .give(waiter, .success(message))
            }
            if state.lookAgain { return .again }
            if let end = state.end {
                if state.reading != .none {
                    // The read in flight ends because the handle is closed, and comes back here.
                    state.hasTurn = false
                    return .close
                }
                switch state.consumer {
                case .waiter(let waiter, _):
                    state.consumer = .none
                    return .give(waiter, .failure(end))
                case .callbacks:
                    let consumer = state.consumer
                    state.consumer = .finished
                    state.hasTurn = false
                    return .end(consumer, end)
                case .none, .finished:
                    state.hasTurn = false
                    return .close
                }
            }
            state.hasTurn = false
            guard state.reading == .none, let target = room(in: &state) else { return .nothing }
            return .read(target)
        }
    }

    /// Returns the memory for the next read; nil when the buffer is full.
    private func room(in state: inout State) -> UnsafeMutableRawBufferPointer? {
        if let large = state.large, !large.isComplete {
            state.reading = .intoLarge
            return large.missing
        }
        let unread = state.tail - state.head
        let isHungry = if case .none = state.consumer { false } else { true }
        // Moving the unread bytes to the front is worth it when a consumer waits for the rest, or when it costs less than it frees.
        if isHungry || unread <= state.head {
            if unread > 0, state.head > 0 {
                UnsafeMutableRawBufferPointer(rebasing: buffer[..<unread])
                    .copyMemory(from: UnsafeRawBufferPointer(rebasing: buffer[state.head..<state.tail]))
            }
            state.head = 0
            state.tail = unread
        }
        guard state.tail < Self.bufferSize else { return nil }
        state.reading = .intoBuffer
        return UnsafeMutableRawBufferPointer(rebasing: buffer[state.tail...])
    }

    private func read(into target: UnsafeMutableRawBufferPointer) {
        if let session { return decrypt(with: session, into: target) }
        submitRead(into: target) { self.received($0) }
    }

    /// Decrypts what has arrived; reads on when that's too little.
    private func decrypt(with session: TLSSession, into target: UnsafeMutableRawBufferPointer) {
        switch session.decrypt(into: target) {
        case .done(let count): received(AsyncOperation.Outcome(count: count))
        case .failed(let code): received(AsyncOperation.Outcome(code: code))
        case .needsInput:
            // Unsafe: the memory belongs to this read until `received`, and to no thread meanwhile.
            nonisolated(unsafe) let target = target
            submitRead(into: session.input) { outcome in
                guard outcome.code == nil, outcome.count > 0 else { return self.received(outcome) }
                session.arrived(outcome.count)
                self.decrypt(with: session, into: target)
            }
        }
    }

    private func submitRead(into target: UnsafeMutableRawBufferPointer, completion: @escaping AsyncOperation.Completion) {
        let submission = operation.submit(on: handle) { outcome in
            #if !SLOW_PATH_ONLY
            if outcome.count <= ReadingThread.readLimit { return ReadingThread.afterReading { completion(outcome) } }
            #endif
            completion(outcome)
        } start: { stream, aio in
            var vector = nng_iov(iov_buf: target.baseAddress, iov_len: target.count)
            nng_aio_set_iov(aio, 1, &vector)
            nng_stream_recv(stream, aio)
        }
        switch submission {
        case .accepted: break
        case .busy: completion(AsyncOperation.Outcome(code: .busy))
        case .closed: completion(AsyncOperation.Outcome(code: .closed))
        }
    }

    private func received(_ outcome: AsyncOperation.Outcome) {
        let isFree = state.withLock { state in
            let code = outcome.code ?? (outcome.count > 0 ? nil : .connectionShut)
            switch (code, state.reading) {
            case (nil, .intoLarge):
                state.largeCount += outcome.count
                state.suspicion = nil
            case (nil, _):
                state.tail += outcome.count
                state.suspicion = nil
            case (let code?, _):
                if code.mayHideUnreadBytes, state.suspicion == nil {
                    state.suspicion = code
                } else if state.end == nil {
                    state.end = error(state.suspicion ?? code)
                }
            }
            state.reading = .none
            state.lookAgain = true
            defer { state.hasTurn = true }
            return !state.hasTurn
        }
        if isFree { deliver() }
    }
}
