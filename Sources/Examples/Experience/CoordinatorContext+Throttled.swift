import Coordinators
import Logging

extension CoordinatorContext {
    /// Tells the app that this coordinator rests, or doesn't any more.
    func reportThrottled(_ isResting: Bool) async {
        do {
            try await ask(App.Throttled(isResting: isResting))
        } catch {
            logger.warning("nobody counts who rests", metadata: ["error": "\(error)"])
        }
    }
}
