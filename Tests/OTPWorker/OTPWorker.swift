import Coordinators
import OTPFixtures

/// The program that the tests' workers run.
@main
struct OTPWorker {
    static func main() async throws {
        try await CoordinatorRuntime.main(Supervising<OneForOne>.self, coordinators: OTP.coordinators)
    }
}
