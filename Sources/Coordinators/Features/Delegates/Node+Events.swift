import ConcurrencySupport

extension Node {
    /// Streams the events of a child to a coordinator elsewhere in the tree, until that coordinator or its process ends.
    func streamEvents(_ envelope: Envelope) {
        guard let key = try? envelope.message(as: ReadEvents.self).key, let flow = envelope.flow, let children = existingChildren else {
            return envelope.end(.failure(CoordinatorError(.noSuchPath, "\(path) has no children")))
        }
        let queue = NoticeQueue(of: path.appending(key), deadLetters: runtime.deadLetters)
        let subscription = Subscription(children, key, queue)
        guard !subscription.isOver else {
            return envelope.end(.failure(CoordinatorError(.noSuchPath, "there is no coordinator at \(path.appending(key))")))
        }
        envelope.release()
        let task = handle(envelope) {
            defer { subscription.cancel() }
            do {
                try flow.pass(.value(NoReply()))
                for await notice in queue {
                    if case .event(let event) = notice { try await flow.send(event) }
                }
                envelope.complete(.success(.none))
            } catch {
                envelope.complete(.failure(error))
            }
        }
        envelope.work(.task(task))
    }
}
