import Coordinators
import TestSupport
import Testing

@testable import Registration

@Suite("Registration, then the dashboard", .timeLimit(minutes: 1))
struct RegistrationTests {
    private static let ada = Profile(name: "Ada", email: "ada@example.org")
    private static let no = Preferences(newsletter: false)

    @Test("An unknown user takes all three steps, and then sees the dashboard alone", arguments: Where.allCases)
    func allSteps(_ place: Where) async throws {
        try await RunningRegistration.with(place) { registration in
            let diary = try await registration.end()
            #expect(
                diary == [
                    "profile? /app/registration:profile",
                    "preferences? /app/registration:profile /app/registration:preferences",
                    "confirm Ada /app/registration:profile /app/registration:preferences /app/registration:confirmation",
                    "dashboard of Ada /app/dashboard:overview",
                    "finished: Ada, newsletter true",
                ]
            )
        }
    }

    @Test("A user whose preferences are known isn't asked for them", arguments: Where.allCases)
    func preferencesKnown(_ place: Where) async throws {
        try await RunningRegistration.with(place) {
            $0.app.known.preferences = Self.no
        } _: { registration in
            let diary = try await registration.end()
            #expect(
                diary == [
                    "profile? /app/registration:profile",
                    "confirm Ada /app/registration:profile /app/registration:confirmation",
                    "dashboard of Ada /app/dashboard:overview",
                    "finished: Ada, newsletter false",
                ]
            )
        }
    }

    @Test("A user whose profile is known isn't asked for it", arguments: Where.allCases)
    func profileKnown(_ place: Where) async throws {
        try await RunningRegistration.with(place) {
            $0.app.known.profile = Self.ada
        } _: { registration in
            let diary = try await registration.end()
            #expect(
                diary == [
                    "preferences? /app/registration:preferences",
                    "confirm Ada /app/registration:preferences /app/registration:confirmation",
                    "dashboard of Ada /app/dashboard:overview",
                    "finished: Ada, newsletter true",
                ]
            )
        }
    }

    @Test("A user of whom all is known is asked nothing", arguments: Where.allCases)
    func allKnown(_ place: Where) async throws {
        try await RunningRegistration.with(place) {
            $0.app.known = DeviceManagement(profile: Self.ada, preferences: Self.no)
        } _: { registration in
            let diary = try await registration.end()
            #expect(diary == ["dashboard of Ada /app/dashboard:overview", "finished: Ada, newsletter false"])
        }
    }

    @Test("A user who has registered before isn't registered again")
    func registered() async throws {
        try await RunningRegistration.with(.inProcess) {
            $0.app.user = User(profile: Self.ada, preferences: Self.no)
        } _: { registration in
            let diary = try await registration.end()
            #expect(diary == ["dashboard of Ada /app/dashboard:overview", "finished: Ada, newsletter false"])
        }
    }

    @Test("The application has one child, by its key, while the registration runs", arguments: Where.allCases)
    func children(_ place: Where) async throws {
        try await RunningRegistration.with(place) {
            $0.names = [""]
        } _: { registration in
            try await registration.shown(1)
            let children = try await registration.runtime.snapshot(of: "/app").children
            #expect(children.map(\.path) == ["/app/registration"])
            #expect(children.first?.type == "RegistrationCoordinator")
            #expect(children.first?.host == (place == .worker ? .worker : .inProcess))
        }
    }

    @Test("A registration whose process is killed begins again, and its user is registered all the same")
    func killed() async throws {
        try await RunningRegistration.with(.worker) {
            $0.names = ["", "Ada"]
        } _: { registration in
            try await registration.shown(1)
            try await registration.runtime.kill("/app/registration")
            let diary = try await registration.end()
            #expect(
                diary == [
                    "profile? /app/registration:profile",
                    "profile? /app/registration:profile",
                    "preferences? /app/registration:profile /app/registration:preferences",
                    "confirm Ada /app/registration:profile /app/registration:preferences /app/registration:confirmation",
                    "dashboard of Ada /app/dashboard:overview",
                    "finished: Ada, newsletter true",
                ]
            )
        }
    }
}
