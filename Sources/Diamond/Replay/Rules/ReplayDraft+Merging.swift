import Foundation
import HTTPTypes

/// Making one job of two that have the same unique name.
extension ReplayDraft {
    /// The result of merging two requests.
    enum Merger: Hashable, Sendable {
        case one(ReplayDraft)
        /// Nothing has to be sent: the object would be created and deleted again.
        case none
    }

    /// Returns the request merged into an earlier one, by the rules of ``ReplayPolicy/Uniqueness/merge``.
    ///
    /// - Parameter earlier: the request that waits.
    /// - Throws: ``ReplayError/Code-swift.struct/cannotMerge`` for all else.
    func merged(into earlier: Request, rules: KeyRules) throws(ReplayError) -> Merger {
        let new = try Self.request(from: request)
        switch (earlier.method, new.method) {
        case (.post, .put), (.post, .patch), (.put, .patch):
            return .one(try draft(of: Self.body(of: new, over: earlier), rules, absorbedBy: earlier.replay))
        case (.put, .put), (.patch, .patch): return .one(try draft(of: Self.body(of: earlier, under: new), rules))
        case (.patch, .put), (.put, .delete), (.patch, .delete), (.delete, .delete): return .one(self)
        case (.post, .delete): return .none
        default:
            let message = "a \(new.method.rawValue) cannot be merged into a \(earlier.method.rawValue) that waits"
            throw ReplayError(.cannotMerge, "\(message): choose another uniqueness, or another unique name")
        }
    }

    static func request(from data: Data) throws(ReplayError) -> Request {
        do { return try Request(json: data) } catch { throw ReplayError(error) }
    }

    /// - Parameter earlier: the policy of the request that takes this one in, whose URL stays.
    private func draft(
        of request: Request, _ rules: KeyRules, absorbedBy earlier: ReplayPolicy? = nil
    ) throws(ReplayError) -> ReplayDraft {
        var request = request
        request.replay = policy
        if let earlier { (request.replay.metadata, request.replay.awaitsID) = (earlier.metadata, earlier.awaitsID) }
        var draft = try ReplayDraft(request, rules: rules, freshKey: idempotencyKey ?? UUID().uuidString)
        (draft.runAt, draft.expiresAt) = (runAt, expiresAt)
        return draft
    }

    /// The earlier request, with what the new one's body changes.
    private static func body(of new: Request, over earlier: Request) -> Request {
        var request = earlier
        if let patch = new.body?.jsonValue, let target = earlier.body?.jsonValue {
            request.body = .json(target.merging(patch))
        } else {
            request.body = new.body
        }
        return request
    }

    /// The new request, with what it leaves alone of the earlier one's body.
    private static func body(of earlier: Request, under new: Request) -> Request {
        var request = new
        if new.method == .patch, let patch = new.body?.jsonValue, let target = earlier.body?.jsonValue {
            request.body = .json(target.adding(patch))
        }
        return request
    }
}

extension JSONValue {
    /// By RFC 7396: `null` removes.
    fileprivate func merging(_ patch: JSONValue) -> JSONValue {
        guard case .object(let changes) = patch else { return patch }
        var members: [String: JSONValue] = [:]
        if case .object(let own) = self { members = own }
        for (name, change) in changes {
            members[name] = change == .null ? nil : (members[name] ?? .null).merging(change)
        }
        return .object(members)
    }

    /// Two patches in one: `null` stays, because the server still has to remove.
    fileprivate func adding(_ patch: JSONValue) -> JSONValue {
        guard case .object(let changes) = patch, case .object(var members) = self else { return patch }
        for (name, change) in changes { members[name] = members[name]?.adding(change) ?? change }
        return .object(members)
    }
}
