import Diamond
import DiamondTesting
import Foundation
import HTTPTypes

/// The server of a recorded run: the response of each URL, by the version of its content.
struct ModelServer {
    /// The kind of a URL.
    enum Page: String, CaseIterable {
        case fresh, short, confirmed, unstored, silent, dated, personal, varied, large, moved, away, item, numbers,
            stable

        var url: String { "https://a.test/\(rawValue)" }

        /// The target of its redirect.
        var target: String? {
            switch self {
            case .moved: "https://a.test/fresh"
            case .away: "https://b.test/short"
            default: nil
            }
        }

        var headers: HTTPFields {
            switch self {
            case .fresh, .personal, .item, .numbers: [.cacheControl: "max-age=20"]
            case .short: [.cacheControl: "max-age=2, stale-if-error=30"]
            case .confirmed: [.cacheControl: "no-cache"]
            case .unstored: [.cacheControl: "no-store"]
            case .silent: [:]
            case .dated: [.cacheControl: "max-age=1, must-revalidate"]
            case .varied: [.cacheControl: "max-age=10", .vary: "Accept-Language"]
            case .large: [.cacheControl: "max-age=5", .acceptRanges: "bytes"]
            case .stable: [.cacheControl: "max-age=3, stale-while-revalidate=60"]
            case .moved, .away: [.cacheControl: "max-age=4"]
            }
        }

        var hasValidator: Bool { self != .silent && self != .unstored && self != .dated }
    }

    /// The server's behavior when it answers.
    enum Mood: String, CaseIterable {
        case good, half, slowHalf, missing, broken, busy, busyForLong, throttled, refused, lost, tooSlow, undecodable,
            empty
    }

    private var versions: [String: Int] = [:]

    /// Changes the content of a URL.
    mutating func change(_ url: String) { versions[url, default: 1] += 1 }

    func answer(to request: TransportRequest, _ mood: Mood) -> HeldTransport.Answer {
        switch mood {
        case .good, .half, .slowHalf, .undecodable: content(of: request, mood)
        case .empty: .whole(.stub(status: 204, body: ""))
        case .missing:
            .whole(
                .stub(
                    status: 404, headers: [.cacheControl: isUnstored(request) ? "no-store" : "max-age=3"],
                    body: "missing"))
        case .broken: .whole(.stub(status: 500, body: "broken"))
        case .busy: .whole(.stub(status: 503, body: "busy"))
        case .busyForLong: .whole(.stub(status: 503, headers: [.retryAfter: "2"], body: "busy"))
        case .throttled: .whole(.stub(status: 429, body: "slower"))
        case .refused: .failure(TransportError(.cannotConnect, "refused", serverMayHaveActed: false))
        case .lost: .failure(TransportError(.connectionLost, "lost", serverMayHaveActed: true))
        case .tooSlow: .failure(TransportError(.timedOut, "slow", serverMayHaveActed: true))
        }
    }

    private func page(of request: TransportRequest) -> Page? {
        Page(rawValue: String(request.url.split(separator: "/").last ?? ""))
    }

    // An entry is removed with a response that may not be stored, where it is still in memory: this is not guaranteed.
    private func isUnstored(_ request: TransportRequest) -> Bool { page(of: request) == .unstored }

    private func content(of request: TransportRequest, _ mood: Mood) -> HeldTransport.Answer {
        let page = page(of: request)
        if let target = page?.target {
            let headers = (page?.headers ?? [:]).adding(.location, target)
            return .whole(.stub(status: page == .moved ? 301 : 307, headers: headers, body: ""))
        }
        guard request.method == .get || request.method == .head else {
            return .whole(.stub(status: request.method == .post ? 201 : 200, body: #"{"made": true}"#))
        }
        return content(of: request, page ?? .silent, mood)
    }

    private func content(of request: TransportRequest, _ page: Page, _ mood: Mood) -> HeldTransport.Answer {
        let version = versions[page.url] ?? 1
        var headers = page.headers
        let tag = "\"\(page.rawValue)-\(version)\""
        if page.hasValidator { headers[.eTag] = tag }
        // Every third version may not be stored.
        if page == .stable, version.isMultiple(of: 3) { headers[.cacheControl] = "no-store" }
        if page == .dated { headers[.lastModified] = Self.date(version) }
        if request.headers[.ifNoneMatch].map({ $0.contains(tag) }) ?? false
            || page == .dated && request.headers[.ifModifiedSince] == Self.date(version)
        {
            return .whole(.stub(status: 304, headers: headers, body: ""))
        }
        let body = Self.body(page, version, isBroken: mood == .undecodable)
        if request.method == .head { return .whole(.stub(headers: headers, body: "")) }
        if let begin = Self.begin(of: request, tag), begin < body.count {
            headers[.contentRange] = "bytes \(begin)-\(body.count - 1)/\(body.count)"
            headers[.contentLength] = "\(body.count - begin)"
            return .whole(.stub(status: 206, headers: headers, body: Data(body[begin...])))
        }
        headers[.contentLength] = "\(body.count)"
        guard mood == .half || mood == .slowHalf || page == .large else {
            return .whole(.stub(headers: headers, body: body))
        }
        let half = body.count / 2
        return .begun(status: 200, headers: headers, piece: Data(body[..<half]), rest: Data(body[half...]))
    }

    private static func date(_ version: Int) -> String {
        "Thu, 01 Jan 2026 00:00:\(version < 10 ? "0" : "")\(version % 60) GMT"
    }

    private static func body(_ page: Page, _ version: Int, isBroken: Bool) -> Data {
        guard !isBroken else { return Data("{".utf8) }
        let filling = page == .large ? String(repeating: "large ", count: 2000) : page.rawValue
        return Data(#"{"version": \#(version), "text": "\#(filling)"}"#.utf8)
    }

    /// The first requested byte, where the content still has the tag.
    private static func begin(of request: TransportRequest, _ tag: String) -> Int? {
        guard let range = request.headers[.range], range.hasPrefix("bytes="), request.headers[.ifRange] == tag else {
            return nil
        }
        return Int(range.dropFirst("bytes=".count).prefix { $0 != "-" })
    }
}

extension HTTPFields {
    fileprivate func adding(_ name: HTTPField.Name, _ value: String) -> HTTPFields {
        var fields = self
        fields[name] = value
        return fields
    }
}
