import Diamond

// The part of the sample API that this program calls. The guide to the whole is at its root.

nonisolated struct City: Codable, Hashable, Sendable {
    let id: Int
    let name: String
    let country: String
    let population: Int
}

/// `GET /cities`: a page of cities, the largest first.
nonisolated struct ListCities: Endpoint {
    nonisolated struct Output: Decodable, Sendable {
        let total: Int
        let items: [City]
        let nextCursor: String?
    }

    /// A part of the name. Case and accents do not matter.
    var name: String?
    var country: String?
    var minPopulation: Int?
    var limit: Int?

    var request: Request {
        let parameters: Parameters = [
            "q": name, "country": country, "minPopulation": minPopulation, "limit": limit, "sort": "-population",
        ]
        return Request("cities", parameters: parameters)
    }
}

/// `GET /cities/ID`
nonisolated struct GetCity: Endpoint {
    typealias Output = City
    var id: Int
    var request: Request { Request("cities/\(segment: id)") }
}

/// `POST /login`: a token for a user.
nonisolated struct Login: Endpoint {
    nonisolated struct Output: Decodable, Sendable {
        let user: String
        let token: String
    }

    var user: String
    var password: String

    var request: Request {
        get throws { Request("login", method: .post, body: try .json(encoding: self), cache: .noStore) }
    }
}

/// `DELETE /login`: the end of the token.
nonisolated struct Logout: Endpoint {
    typealias Output = Nothing
    var request: Request {
        var request = Request("login", method: .delete)
        request.credentials = [.bearer(Session.token)]
        return request
    }
}

/// `GET /me`: the user of the token, which the engine adds.
nonisolated struct GetProfile: Endpoint {
    nonisolated struct Output: Decodable, Sendable { let name: String }
    var request: Request { Request("me") }
}

nonisolated struct Note: Codable, Hashable, Sendable {
    let id: Int
    let city: Int?
    let text: String
}

/// `GET /notes`: all notes, or those on a city.
nonisolated struct ListNotes: Endpoint {
    typealias Output = [Note]
    var city: Int?

    var request: Request {
        var request = Request("notes", parameters: ["city": city])
        request.tags = ["notes"]
        return request
    }
}

/// `POST /notes`: a note on a city. It is on disk before it is sent, and is sent after the user's earlier notes.
nonisolated struct AddNote: Endpoint {
    typealias Output = Note
    var author: String
    var city: Int
    var text: String

    var request: Request {
        get throws {
            var request = Request("notes", method: .post, body: .json(["city": city, "text": text]))
            request.invalidates = ["notes"]
            // The key names the user, because the held notes of a user would otherwise block those of all others.
            request.replay = try ReplayPolicy(.durable, orderingKey: "notes of \(author)").storing(self)
            return request
        }
    }
}

nonisolated extension Request {
    /// `GET /wire/bytes/SIZE`: a file of a size.
    static func file(ofSize size: Int) -> Request { Request("wire/bytes/\(segment: size)") }
}

nonisolated extension RequestDefaults {
    /// The token of the signed-in user, for the requests that need it. Only the name of the token is written to disk.
    static let signed = ["me", "notes"].map { RequestDefaults(under: $0, credentials: [.bearer(Session.token)]) }
}
