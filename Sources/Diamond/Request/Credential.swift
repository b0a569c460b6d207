public import HTTPTypes

/// A secret and its place in a request.
///
/// ```swift
/// request.credentials = [.bearer(.secret("github-token"))]
/// request.identity = "user-42"
/// ```
///
/// A response to a request with a named secret is stored, and shared, only where the request has an identity: without
/// one nobody knows for whom the secret, which is filled in later, will speak.
public struct Credential: Hashable, Sendable {
    /// Where the secret stands.
    public enum Place: Hashable, Sendable {
        /// In a header, behind `prefix`; it takes the place of a header of this name.
        case header(HTTPField.Name, prefix: String)
        /// In the query, behind the parameters.
        case parameter(String)

        /// Names and prefixes compare by their bytes.
        public static func == (one: Place, other: Place) -> Bool {
            switch (one, other) {
            case (.header(let name, let prefix), .header(let otherName, let otherPrefix)):
                name == otherName && prefix.isExactly(otherPrefix)
            case (.parameter(let name), .parameter(let other)): name.isExactly(other)
            default: false
            }
        }
    }

    /// Where it stands.
    public var place: Place
    /// What stands there.
    public var secret: Secret

    /// A secret at any place.
    public init(_ place: Place, _ secret: Secret) {
        self.place = place
        self.secret = secret
    }

    /// `Authorization: Bearer …` (RFC 6750 section 2.1).
    public static func bearer(_ secret: Secret) -> Credential { .header(.authorization, prefix: "Bearer ", secret) }

    /// In a header, such as `X-API-Key`; with a prefix behind that, its space included.
    public static func header(_ name: HTTPField.Name, prefix: String = "", _ secret: Secret) -> Credential {
        Credential(.header(name, prefix: prefix), secret)
    }

    /// In the query, such as `api_key`.
    public static func parameter(_ name: String, _ secret: Secret) -> Credential {
        Credential(.parameter(name), secret)
    }
}

extension Credential {
    /// `{"header": "Authorization", "prefix": "Bearer ", "secret": "github-token"}`, or `parameter` for `header`.
    init(written: JSONValue) throws(RequestError) {
        var form = try WrittenObject(written, in: "a credential")
        guard let name = try form.string("secret") else {
            throw form.failure("secret", "is missing: give the name of a secret")
        }
        secret = .secret(name)
        if let parameter = try form.string("parameter") {
            place = .parameter(parameter)
        } else {
            let header = try form.string("header") ?? "Authorization"
            let prefix = try form.string("prefix") ?? ""
            // A prefix ends in a space, which no whole value does.
            place = .header(try HTTPField(checking: header, prefix + "x").name, prefix: prefix)
        }
        try form.finish()
    }

    /// - Throws: ``RequestError/Code-swift.struct/unnamedSecret``.
    func written() throws(RequestError) -> JSONValue {
        guard let name = secret.name else {
            throw RequestError(
                .unnamedSecret,
                "the request holds a secret without a name, which is never written: use .secret(\"name\")")
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
