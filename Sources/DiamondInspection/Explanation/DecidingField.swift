import Diamond
import HTTPTypes

/// The field of a message that decides, with its value: `response Cache-Control: no-store`.
enum DecidingField {
    /// Returns a field of a response; `nil` if it has none.
    static func response(_ name: HTTPField.Name, in headers: HTTPFields) -> String? {
        text(of: name, in: headers, message: "response")
    }

    /// Returns a field of a request; `nil` if it has none.
    static func request(_ name: HTTPField.Name, in headers: HTTPFields) -> String? {
        text(of: name, in: headers, message: "request")
    }

    /// Returns the field with the directives of a response: a targeted one, or `Cache-Control`.
    static func control(in headers: HTTPFields, targets: [HTTPField.Name]) -> String? {
        let target = targets.first { CacheControl(headers, targets: [$0]).isTargeted }
        return response(target ?? .cacheControl, in: headers)
    }

    private static func text(of name: HTTPField.Name, in headers: HTTPFields, message: String) -> String? {
        let fields = headers.filter { $0.name == name }.map { "\($0.name.rawName): \(SecretNames.masked($0))" }
        return fields.isEmpty ? nil : "\(message) " + fields.joined(separator: ", ")
    }
}
