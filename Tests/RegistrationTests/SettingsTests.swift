import Coordinators
import TestSupport
import Testing
import WireProtocol

@testable import Registration

@Suite("Settings: the registration again, in a sheet", .timeLimit(minutes: 1))
struct SettingsTests {
    private static let over = "/app/dashboard:overview /app/settings:menu"
    private static let inSheet = "/app/dashboard:overview /app/settings:menu /app/settings:sheet /app/settings/registration:profile"

    @Test("The registration over the settings asks for the profile alone; then the sheet is gone, and the change is known")
    func edit() async throws {
        try await RunningRegistration.with(.inProcess, Self.visitSettings) { registration in
            let diary = try await registration.end()
            #expect(
                diary == [
                    "dashboard of Ada Byron /app/dashboard:overview",
                    "settings of Ada Byron \(Self.over)",
                    "profile? \(Self.inSheet)",
                    "confirm Ada Lovelace \(Self.inSheet) /app/settings/registration:confirmation",
                    "settings of Ada Lovelace \(Self.over)",
                    "dashboard of Ada Lovelace /app/dashboard:overview",
                    "finished: Ada Lovelace, newsletter false",
                ]
            )
        }
    }

    @Test("Closing the sheet ends the registration in it, and changes nothing")
    func closeSheet() async throws {
        try await RunningRegistration.with(.inProcess) {
            Self.visitSettings(&$0)
            $0.names = [""]
        } _: { registration in
            try await registration.shown(3)
            let modal = try await registration.runtime.navigation().filter(\.isModal)
            #expect(modal.map(\.page) == ["sheet"])
            try await registration.runtime.ask(Settings.CloseSheet(), at: "/app/settings")
            let diary = try await registration.end()
            #expect(
                diary == [
                    "dashboard of Ada Byron /app/dashboard:overview",
                    "settings of Ada Byron \(Self.over)",
                    "profile? \(Self.inSheet)",
                    "settings of Ada Byron \(Self.over)",
                    "dashboard of Ada Byron /app/dashboard:overview",
                    "finished: Ada Byron, newsletter false",
                ]
            )
        }
    }

    @Test("The sheet can be opened again after it was closed")
    func again() async throws {
        try await RunningRegistration.with(.inProcess) {
            Self.visitSettings(&$0)
            $0.names = ["", "Ada Lovelace"]
            $0.menu = [.editProfile, .editProfile, .close]
        } _: { registration in
            try await registration.shown(3)
            try await registration.runtime.ask(Settings.CloseSheet(), at: "/app/settings")
            let diary = try await registration.end()
            #expect(diary.filter { $0 == "profile? \(Self.inSheet)" }.count == 2)
            #expect(diary.last == "finished: Ada Lovelace, newsletter false")
        }
    }

    @Test("The same program runs both registrations: the first in its own process, the second in the settings'")
    func bothPlaces() async throws {
        try await RunningRegistration.with(.worker) {
            $0.names = ["Ada Byron", "Ada Lovelace"]
            $0.overview = [.settings, .signOut]
            $0.menu = [.editProfile, .close]
        } _: { registration in
            let diary = try await registration.end()
            #expect(diary.first == "profile? /app/registration:profile")
            #expect(diary.contains("profile? \(Self.inSheet)"))
            #expect(diary.last == "finished: Ada Lovelace, newsletter true")
        }
    }

    /// A registered user goes to the settings, edits her profile, closes them, and signs out.
    private static func visitSettings(_ user: inout TestUser.Configuration) {
        user.app.user = User(profile: Profile(name: "Ada Byron", email: ""), preferences: Preferences(newsletter: false))
        user.names = ["Ada Lovelace"]
        user.overview = [.settings, .signOut]
        user.menu = [.editProfile, .close]
    }
}
