import Coordinators
import Fixtures
import TestSupport

extension LifecycleRoot {
    /// The rows of the root, at the end of a chain.
    static let chainRows: Responders = [
        .respond(to: Climb.Nearest.self) { me, _ in me.context.path.description },
        .respond(to: Climb.Own.self) { me, _ in me.context.path.description },
        .respond(to: Climb.Add.self) { me, add in
            me.sum += add.amount
            return me.sum
        },
        .respond(to: Fixture.Refuse.self) { _, refuse in
            if refuse.asCodable { throw Fixture.Refusal("not today") }
            throw Fixture.LocalRefusal()
        },
        .respond(to: Climb.Origin.self) { _, _, context in
            Fixture.Origin(context)
        },
        .stream(Climb.Feed.self) { me, feed, replies in
            me.begunFeeds += 1
            do {
                for number in 0..<feed.count { try await replies.send(number) }
                switch feed.end {
                case .returns: break
                case .refuses: throw Fixture.Refusal("that's all")
                case .never: try await untilCancelled()
                }
            } catch {
                if Task.isCancelled { me.cancelledFeeds += 1 }
                throw error
            }
        },
    ]
}
