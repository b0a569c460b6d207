#if Tools
import Diamond
import Foundation

/// The parts of a line of `queue export` that `queue import` copies.
struct ImportedLine: Decodable {
    private typealias Key = JSONObject.Name

    /// The known JSON keys, including those that are not imported.
    private static let known: Set<String> = [
        "version", "request", "id", "state", "reason", "method", "url", "host", "identity", "orderingKey", "order",
        "isHead", "isHeld", "priority", "lane", "kind", "tags", "metadata", "enqueuedAt", "changedAt", "runAt",
        "expiresAt", "attempts", "attemptLimit", "sentAt", "unknownSince", "idempotencyKey", "status",
        "awaitedJobs",
    ]

    /// The job to add; `nil` if the exported job is done, dead or in review.
    private(set) var copy: ReplayCopy?

    /// - Parameter place: The place of the line for error messages, such as `line 3`.
    init(_ line: Data, place: String) throws(RequestError) {
        do {
            self = try JSONDecoder().decode(Self.self, from: line)
            copy?.origin = place
        } catch let error as RequestError {
            throw error
        } catch {
            throw Self.failure("is not a line of an export: correct it")
        }
    }

    init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: Key.self)
        if let unknown = container.allKeys.map(\.stringValue).filter({ !Self.known.contains($0) }).min() {
            throw Self.failure("has the unknown key \"\(unknown)\": remove or correct it")
        }
        guard try container.decodeIfPresent(Int.self, forKey: Key(stringValue: "version")) ?? 1 == 1 else {
            throw Self.failure("is of a newer version: update this program")
        }
        let state = try Self.state(container)
        let isHeld = try container.decodeIfPresent(Bool.self, forKey: Key(stringValue: "isHeld"))
        if state?.isEnd != true { copy = try Self.copy(container, isHeld: isHeld ?? (state == .held)) }
    }

    private static func copy(_ container: KeyedDecodingContainer<Key>, isHeld: Bool) throws -> ReplayCopy {
        guard let request = try container.decodeIfPresent(Request.self, forKey: Key(stringValue: "request")) else {
            throw failure("has no request: add one as \"request\"")
        }
        let sent = try date("sentAt", in: container)
        return ReplayCopy(
            request, runAt: try date("runAt", in: container), expiresAt: try date("expiresAt", in: container),
            unknownSince: try date("unknownSince", in: container) ?? sent, isHeld: isHeld)
    }

    /// Returns the job's state; `nil` if the line has none.
    private static func state(_ container: KeyedDecodingContainer<Key>) throws -> ReplayState? {
        guard let name = try container.decodeIfPresent(String.self, forKey: Key(stringValue: "state")) else {
            return nil
        }
        guard let state = ReplayState(name) else { throw failure("has the unknown state '\(name)': correct it") }
        return state
    }

    private static func date(_ key: String, in container: KeyedDecodingContainer<Key>) throws -> Date? {
        guard let text = try container.decodeIfPresent(String.self, forKey: Key(stringValue: key)) else { return nil }
        guard let date = InternetTime.date(text) else {
            throw failure("has a malformed \"\(key)\": write a time such as 2026-08-01T12:00:00Z")
        }
        return date
    }

    private static func failure(_ message: String) -> RequestError { RequestError(.malformedRequest, message) }
}
#endif
