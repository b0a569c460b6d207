#if Tools
import Diamond
import Foundation

/// A request of a file, with the values that are captured from its response, and the conditions of the response.
struct RequestStep: Sendable {
    private enum Source {
        case request(Request)
        /// The members of a request with placeholders.
        case form([String: JSONValue])
    }

    private let source: Source
    /// The URL for messages: with its placeholders, and with masked secrets.
    let url: String
    /// The parts of the response by the names of their values.
    let captures: [(name: String, part: ResponsePart)]
    var assertions: [Assertion] = []

    init(_ request: Request) {
        source = .request(request)
        url = SecretNames.masked(urlsIn: request.url)
        captures = []
    }

    /// Reads a request with the members `capture` and `assert`.
    init(_ json: JSONValue) throws {
        guard case .object(var members) = json else {
            throw RequestError(.malformedRequest, "a request is \(json.kindName): write an object, {…}")
        }
        captures = try Self.captures(members.removeValue(forKey: "capture"))
        assertions = try Self.assertions(members.removeValue(forKey: "assert"))
        url = if case .string(let text)? = members["url"] { SecretNames.masked(urlsIn: text) } else { "" }
        source = .form(members)
    }

    private static func captures(_ json: JSONValue?) throws -> [(name: String, part: ResponsePart)] {
        guard let json else { return [] }
        guard case .object(let members) = json else {
            throw RequestError(
                .malformedRequest, "key \"capture\" is \(json.kindName): write an object such as {\"id\": \"/id\"}")
        }
        return try members.sorted { $0.key < $1.key }.map { name, part in
            guard case .string(let text) = part, (try? Template("${\(name)}"))?.isValue == true else {
                throw RequestError(
                    .malformedRequest,
                    "key \"capture\" holds '\(name)': write a name of letters, digits, - and _, and a part as text")
            }
            return (name, try ResponsePart(text))
        }
    }

    private static func assertions(_ json: JSONValue?) throws -> [Assertion] {
        guard let json else { return [] }
        guard case .array(let elements) = json else {
            throw RequestError(
                .malformedRequest, "key \"assert\" is \(json.kindName): write an array such as [\"status == 200\"]")
        }
        return try elements.map { element in
            guard case .string(let text) = element else {
                throw RequestError(.malformedRequest, "key \"assert\" holds \(element.kindName): write text only")
            }
            return try Assertion(text)
        }
    }

    /// Whether the step may add a job to the queue.
    var isQueueable: Bool {
        switch source {
        case .request(let request): request.replay.mode != .never
        case .form(let members): members["replay"] != nil
        }
    }

    // MARK: Filling

    /// Returns the request with values in place of its placeholders.
    ///
    /// A credential whose secret has the name of a captured value gets that value.
    ///
    func request(with values: Template.Values) throws -> Request {
        switch source {
        case .request(let request): return request
        case .form(let members):
            let filled = try members.map { name, member in (name, try Self.filled(member, named: name, with: values)) }
            var request = try Self.request(.object(Dictionary(filled) { $1 }))
            try Self.fill(&request.credentials, from: values.captured)
            return request
        }
    }

    /// Refuses to send credentials to an origin that a captured value has chosen.
    ///
    /// - Parameter request: the filled request, with the options of the command.
    func checkOrigin(of request: Request, with values: Template.Values) throws {
        guard case .form(let members) = source, case .string(let url)? = members["url"],
            let name = try Template(url).firstName, let value = values.captured[name],
            !request.credentials.isEmpty || request.headers.contains(where: { SecretNames.masked($0) != $0.value })
        else { return }
        guard try RequestURL(request.url).originText != value.origin else { return }
        throw RequestError(
            .malformedURL,
            "the captured URL ${\(name)} has another origin than the request that captured it, and would get the "
                + "credentials: write the origin in the URL and capture the path only, or leave the credentials out")
    }

    private static func request(_ json: JSONValue) throws(RequestError) -> Request {
        let text = Result { () throws(JSONError) in try JSONWriter.text(of: json) }
        return try Request(json: Data(text.mapError { RequestError(.malformedRequest, $0.message) }.get()))
    }

    private static func fill(_ credentials: inout [Credential], from captured: [String: CapturedValue]) throws {
        for index in credentials.indices {
            guard let name = credentials[index].secret.name, let value = captured[name]?.json else { continue }
            guard case .string(let text) = value else {
                throw MissingValue(message: "the value of the secret '\(name)' is \(value.kindName): capture text")
            }
            credentials[index].secret = .unnamed(text)
        }
    }

    private static func filled(
        _ member: JSONValue, named name: String, with values: Template.Values
    ) throws -> JSONValue {
        switch name {
        case "url": try member.filled(with: values, in: .url)
        case "parameters": try member.filled(with: values, in: .typed)
        case "body": try filled(body: member, with: values)
        // The names of secrets are printed.
        case "credentials": member
        default: try member.filled(with: values, in: .text)
        }
    }

    /// Returns a body, or a part of a multipart body.
    private static func filled(body: JSONValue, with values: Template.Values) throws -> JSONValue {
        guard case .object(let members) = body else { return body }
        let filled = try members.map { name, member in
            switch (name, member) {
            case ("json", _), ("form", _): (name, try member.filled(with: values, in: .typed))
            case ("jsonText", _): (name, try member.filled(with: values, in: .jsonText))
            case ("file", _): (name, try member.filled(with: values, in: .path))
            case ("multipart", .array(let parts)):
                (name, JSONValue.array(try parts.map { try Self.filled(body: $0, with: values) }))
            default: (name, try member.filled(with: values, in: .text))
            }
        }
        return .object(Dictionary(filled) { $1 })
    }
}
#endif
