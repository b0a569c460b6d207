public import HTTPTypes

/// A secret and its place in a request.
///
/// ```swift
/// request.credentials = [.bearer(.secret("github-token"))]
/// request.identity = "user-42"
/// ```
///
/// The response to a request with a named secret is stored and shared only if the request has an identity: a named
/// secret is filled in later, so it does not identify the user.
public struct Credential: Hashable, Sendable {
    /// The place of a secret.
    package enum Place: Hashable, Sendable {
        /// A header, whose value is `prefix` followed by the secret. It replaces a header of the same name.
        case header(HTTPField.Name, prefix: String)
        /// A query item after the parameters.
        case parameter(String)

        /// Names and prefixes compare by their bytes.
        package static func == (one: Place, other: Place) -> Bool {
            switch (one, other) {
            case (.header(let name, let prefix), .header(let otherName, let otherPrefix)):
                name == otherName && prefix.isExactly(otherPrefix)
            case (.parameter(let name), .parameter(let other)): name.isExactly(other)
            default: false
            }
        }
    }

    /// The place of the secret.
    package var place: Place
    /// The secret at that place.
    package var secret: Secret

    /// Creates a credential from a secret and its place.
    package init(_ place: Place, _ secret: Secret) {
        self.place = place
        self.secret = secret
    }

    /// Returns the credential `Authorization: Bearer …` (RFC 6750 section 2.1).
    public static func bearer(_ secret: Secret) -> Credential { .header(.authorization, prefix: "Bearer ", secret) }

    /// Returns a credential in a header, such as `X-API-Key`. The prefix precedes the secret and includes any space.
    public static func header(_ name: HTTPField.Name, prefix: String = "", _ secret: Secret) -> Credential {
        Credential(.header(name, prefix: prefix), secret)
    }

    /// Returns a credential in the query, such as `api_key`.
    public static func parameter(_ name: String, _ secret: Secret) -> Credential {
        Credential(.parameter(name), secret)
    }
}

extension Credential {
    /// Reads `{"header": "Authorization", "prefix": "Bearer ", "secret": "github-token"}`, or `parameter` in place of
    /// `header`.
    init(written: JSONValue) throws(RequestError) {
        var form = try WrittenObject(written, in: "a credential")
        guard let name = try form.string("secret") else {
            throw form.failure(at: "secret", "is missing: give the name of a secret")
        }
        secret = .secret(name)
        if let parameter = try form.string("parameter") {
            place = .parameter(parameter)
        } else {
            let header = try form.string("header") ?? "Authorization"
            let prefix = try form.string("prefix") ?? ""
            // Completed with a letter, because a prefix ends in a space, which a field value may not.
            place = .header(try HTTPField(checking: header, prefix + "x").name, prefix: prefix)
        }
        try form.finish()
    }

    /// - Throws: ``RequestError/Code-swift.struct/unnamedSecret``.
    func written() throws(RequestError) -> JSONValue {
        guard let name = secret.name else {
            throw RequestError(
                .unnamedSecret,
                "the request has a secret without a name, which is never written: use .secret(\"name\")")
        }
        var members: [String: JSONValue] = ["secret": .string(name)]
        switch place {
        case .parameter(let parameter): members["parameter"] = .string(parameter)
        case .header(let header, let prefix):
            members["header"] = .string(header.rawName)
            if !prefix.isEmpty { members["prefix"] = .string(prefix) }
        }
        return .object(members)
    }
}
