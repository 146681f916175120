/// A person to call.
struct Contact: Codable, Sendable, Equatable, Identifiable {
    var id = 0
    var name = ""
    var phone = ""

    static let samples = [
        Contact(id: 1, name: "Grace Hopper", phone: "555 0101"),
        Contact(id: 2, name: "Alan Turing", phone: "555 0102"),
    ]
}
