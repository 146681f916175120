import ConcurrencySupport

extension Node {
    /// Streams the events of a child to a coordinator elsewhere in the tree, until that coordinator or its process ends.
    func streamEvents(_ envelope: Envelope) {
        guard let key = try? envelope.message(as: ReadEvents.self).key, let flow = envelope.flow, let children = existingChildren else {
            return envelope.end(.failure(CoordinatorError(.noSuchPath, "\(path) has no children")))
        }
        let queue = NoticeQueue(of: path.appending(key), deadLetters: runtime.deadLetters)
        let subscription = Subscription(children, key, deliver: { queue.append($0) }, finish: { queue.finish() })
        guard !subscription.isOver else {
            return envelope.end(.failure(CoordinatorError(.noSuchPath, "there is no coordinator at \(path.appending(key))")))
        }
        envelope.release()
        let id = noteHandler(envelope)
        let task = Task { [self] in
            defer {
                subscription.cancel()
                handlerEnded(id)
            }
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
        own(task, as: id)
        envelope.work(.task(task))
    }
}
