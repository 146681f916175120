import WireProtocol

extension Frame {
    /// Returns the same frame, with a copy of the payload if that is a small part of the batch.
    ///
    /// A message that waits for its handler must not keep the whole batch alive.
    func apart(from batch: [UInt8]) -> Frame {
        var frame = self
        switch content {
        case .ask(var ask) where ask.payload.isSmall(in: batch):
            ask.payload = Bytes(Array(ask.payload))
            ask.trace = Bytes(Array(ask.trace))
            frame.content = .ask(ask)
        case .send(var send) where send.payload.isSmall(in: batch):
            send.payload = Bytes(Array(send.payload))
            send.trace = Bytes(Array(send.trace))
            frame.content = .send(send)
        case .event(var event) where event.payload.isSmall(in: batch):
            event.payload = Bytes(Array(event.payload))
            frame.content = .event(event)
        case .reply(.success(let payload)) where payload.isSmall(in: batch):
            frame.content = .reply(.success(Bytes(Array(payload))))
        case .streamItem(let payload) where payload.isSmall(in: batch):
            frame.content = .streamItem(Bytes(Array(payload)))
        default: return self
        }
        return frame
    }
}

extension Bytes {
    /// Whether the batch takes much more memory than these bytes.
    fileprivate func isSmall(in batch: [UInt8]) -> Bool { batch.count > 4_096 && count < batch.count / 4 }
}
