import Foundation
import HTTPTypes

/// Merging two jobs that have the same unique name.
extension ReplayDraft {
    /// The result of merging two requests.
    public enum Merger: Hashable, Sendable {
        /// The request that both become.
        case one(ReplayDraft)
        /// Nothing has to be sent: the object would be created and deleted again.
        case none
    }

    /// Returns the request merged into an earlier one, by the rules of ``ReplayPolicy/Uniqueness/merge``.
    ///
    /// - Parameter earlier: the request that waits.
    /// - Throws: ``ReplayError/Code-swift.struct/cannotMerge`` for two requests that the rules do not cover.
    func merged(into earlier: Request, rules: KeyRules) throws(ReplayError) -> Merger {
        let new = try Self.request(from: request)
        switch (earlier.method, new.method) {
        case (.post, .put), (.post, .patch), (.put, .patch):
            return .one(try draft(of: changes(of: new, appliedTo: earlier), rules, mergedInto: earlier))
        case (.put, .put), (.patch, .patch):
            var request = changes(of: earlier, addedTo: new)
            request.replay.awaits.formUnion(earlier.replay.awaits)
            return .one(try draft(of: request, rules))
        case (.patch, .put), (.put, .delete), (.patch, .delete), (.delete, .delete): return .one(self)
        case (.post, .delete): return .none
        default:
            let message = "a \(new.method.rawValue) cannot be merged into a waiting \(earlier.method.rawValue)"
            throw ReplayError(.cannotMerge, "\(message): choose another uniqueness, or another unique name")
        }
    }

    static func request(from data: Data) throws(ReplayError) -> Request {
        do { return try Request(json: data) } catch { throw ReplayError(error) }
    }

    /// Returns the draft of a merged request.
    ///
    /// - Parameter earlier: the request into which this one is merged, if the URL of that one stays; `nil` otherwise.
    private func draft(
        of request: Request, _ rules: KeyRules, mergedInto earlier: Request? = nil
    ) throws(ReplayError) -> ReplayDraft {
        var request = request
        let awaits = request.replay.awaits
        request.replay = policy
        request.replay.awaits.formUnion(awaits)
        if let earlier {
            request.replay.metadata = earlier.replay.metadata
            request.replay.creates = earlier.replay.creates
            if let own = earlier.replay.creates?.localID, request.replay.awaits.remove(own) != nil,
                // The object has no id that its own creation could contain, except as the client's own text.
                !earlier.localIDs.contains(own)
            {
                request.body = request.body?.jsonValue.map { .json($0.replacing([own: .null])) } ?? request.body
            }
        }
        var draft = try ReplayDraft(request, rules: rules, freshKey: idempotencyKey ?? UUID().uuidString)
        draft.runAt = runAt
        draft.expiresAt = expiresAt
        return draft
    }

    /// Returns the earlier request with the changes that the new one's body makes.
    private func changes(of new: Request, appliedTo earlier: Request) -> Request {
        var request = earlier
        if let patch = new.body?.jsonValue, let target = earlier.body?.jsonValue {
            request.body = .json(target.merging(patch).taking(policy.wholeMembers, from: patch))
        } else {
            request.body = new.body
        }
        return request
    }

    /// Returns the new request with the changes of the earlier one's body that it does not override.
    private func changes(of earlier: Request, addedTo new: Request) -> Request {
        var request = new
        if new.method == .patch, let patch = new.body?.jsonValue, let target = earlier.body?.jsonValue {
            request.body = .json(target.adding(patch).taking(policy.wholeMembers, from: patch))
        }
        return request
    }
}

extension JSONValue {
    /// Returns the value with a patch applied (RFC 7396): `null` removes a member.
    package func merging(_ patch: JSONValue) -> JSONValue {
        guard case .object(let changes) = patch else { return patch }
        var members: [String: JSONValue] = [:]
        if case .object(let own) = self { members = own }
        for (name, change) in changes {
            if change == .null {
                members.removeValue(forKey: name)
            } else {
                members[name] = (members[name] ?? .null).merging(change)
            }
        }
        return .object(members)
    }

    /// Returns the value with the members at some paths replaced by those of a patch.
    fileprivate func taking(_ paths: [[String]], from patch: JSONValue) -> JSONValue {
        var value = self
        for path in paths { value = value.taking(path[...], from: patch) }
        return value
    }

    private func taking(_ path: ArraySlice<String>, from patch: JSONValue) -> JSONValue {
        guard let name = path.first else { return patch }
        guard case .object(var members) = self, case .object(let changes) = patch, let change = changes[name] else {
            return self
        }
        members[name] = (members[name] ?? .null).taking(path.dropFirst(), from: change)
        return .object(members)
    }

    /// Returns this patch with another one added. A `null` stays, because the server still has to remove the member.
    fileprivate func adding(_ patch: JSONValue) -> JSONValue {
        guard case .object(let changes) = patch, case .object(var members) = self else { return patch }
        for (name, change) in changes { members[name] = members[name]?.adding(change) ?? change }
        return .object(members)
    }
}
