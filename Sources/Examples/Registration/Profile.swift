/// Who somebody is.
struct Profile: Codable, Sendable, Equatable {
    var name: String
    var email: String
}
