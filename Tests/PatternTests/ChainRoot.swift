import Coordinators
import PatternFixtures

extension LifecycleRoot {
    /// The rows of the root, at the end of a chain.
    static let chainRows: Responders = [
        .respond(to: Climb.Nearest.self) { me, _ in me.context.path.description },
        .respond(to: Climb.Own.self) { me, _ in me.context.path.description },
        .respond(to: Climb.Add.self) { me, add in
            me.sum += add.amount
            return me.sum
        },
        .respond(to: Climb.Refuse.self) { _, refuse in
            if refuse.isCodable { throw Life.Refusal("not today") }
            throw Life.OpaqueRefusal()
        },
        .respond(to: Climb.Origin.self) { _, _, context in
            Climb.Origin.Reply(
                sender: context.sender.description,
                remainingMilliseconds: context.remainingTime.map { Int($0 / .milliseconds(1)) },
                trace: context.trace?.traceparent
            )
        },
        .stream(Climb.Feed.self) { me, feed, replies in
            me.begunFeeds += 1
            do {
                for number in 0..<feed.count { try await replies.send(number) }
                switch feed.end {
                case .returns: break
                case .refuses: throw Life.Refusal("that's all")
                case .never: try await Task.sleep(for: .seconds(600))
                }
            } catch {
                if Task.isCancelled { me.cancelledFeeds += 1 }
                throw error
            }
        },
    ]
}
