import DiamondSQLite
import Foundation
import HTTPTypes

/// Stored parts: they answer ranges, and exchanges continue them (RFC 9111 section 3.3).
extension CacheLookup {
    /// The maximum number of bytes of a stored 206, which is collected in memory.
    static let partLimit = 8 << 20

    /// Returns the 206 that answers a request from a stored part; `nil` if the request has no range, or the part does
    /// not have all of it.
    func part(for context: RequestContext) -> StoredCandidate? {
        guard let cache, cache.mayHavePartialBodies, let identity = context.identity,
            let conditions = context.resolved.conditions.value, conditions.hasRange
        else { return nil }
        return selected(by: identity, of: context.wire) { identity in
            if let index = cache.find(identity, for: kind), index.flags.contains(.variants) {
                return StoredCandidate(index, of: identity)
            }
            return part(under: identity, of: cache, for: conditions, isForSink: context.caller.sink != nil)
        }
    }

    /// Returns the identity under which a part of the response that a request selects is stored, whatever bytes it has:
    /// that of the request or of a variant. `nil` if there is no part.
    func identityOfPart(for context: RequestContext) -> ResolvedRequest.Identity? {
        guard let cache, cache.mayHavePartialBodies, let identity = context.identity else { return nil }
        return selected(by: identity, of: context.wire) { identity in
            if let index = cache.find(identity, for: kind), index.flags.contains(.variants) {
                return StoredCandidate(index, of: identity)
            }
            return storedPart(under: identity, of: cache).map { StoredCandidate($0.stored, of: identity) }
        }?.identity
    }

    /// Whether a gateway requests only the rest of a response, because its beginning is stored (RFC 9111 section 3.4).
    /// The response is then collected.
    func isCompleted(_ context: RequestContext) -> Bool {
        guard let cache, cache.mayHavePartialBodies, context.caller.sink?.takesEveryStatus == true,
            context.isContinuable, context.policy.mode != .reload, let identity = identityOfPart(for: context),
            let body = storedPart(under: identity, of: cache),
            let part = StoredPart(body.stored, count: body.size, now: now())
        else { return false }
        return part.range.lowerBound == 0 && part.length <= Self.partLimit
    }

    /// The beginning of a response, left by an unfinished transfer.
    struct Beginning: Sendable {
        let body: PartialBody
        let response: PartialResponse
    }

    /// Returns the beginning of the response that a request selects, with its bytes; `nil` if there is none that an
    /// exchange can continue.
    ///
    /// - Parameter limit: the most bytes that the caller accepts.
    func beginning(for context: RequestContext, limit: Int) -> Beginning? {
        guard let cache, let identity = identityOfPart(for: context) else { return nil }
        do throws(CacheError) {
            guard let body = try cache.partialBody(identity.key, request: identity.canonicalForm),
                body.stored.isOf(kind), body.size <= limit
            else { return nil }
            let stored = body.stored
            var received = ReceivedResponse(
                status: HTTPResponse.Status(code: stored.status), headers: stored.headers, body: Data(),
                sentAt: stored.storedAt, receivedAt: stored.storedAt)
            // Checked before the body is read, which may be large.
            guard PartialResponse(received) != nil else { return nil }
            received.body = try cache.reader(of: body).rest()
            return PartialResponse(received).map { Beginning(body: body, response: $0) }
        } catch {
            report(error)
            return nil
        }
    }

    /// Returns the part under a key, with its bytes if they are few enough to combine.
    func part(under identity: ResolvedRequest.Identity, now: WallTime) -> StoredPart? {
        guard let cache, cache.mayHavePartialBodies, let body = storedPart(under: identity, of: cache),
            body.stored.isOf(kind), let part = StoredPart(body.stored, count: body.size, now: now)
        else { return nil }
        guard body.size <= Self.partLimit else { return part }
        do throws(CacheError) { return part.with(body: try cache.reader(of: body).rest()) } catch {
            report(error)
            return nil
        }
    }

    /// Returns the part under a key; `nil` also if it cannot be read, which is reported.
    private func storedPart(under identity: ResolvedRequest.Identity, of cache: Cache) -> PartialBody? {
        do throws(CacheError) {
            return try cache.part(identity.key, request: identity.canonicalForm, url: identity.knownURL)
        } catch {
            report(error)
            return nil
        }
    }

    private func part(
        under identity: ResolvedRequest.Identity,
        of cache: Cache,
        for conditions: RequestConditions,
        isForSink: Bool
    ) -> StoredCandidate? {
        do throws(CacheError) {
            let now = now()
            guard let body = try cache.part(identity.key, request: identity.canonicalForm, url: identity.knownURL),
                body.stored.isOf(kind), let part = StoredPart(body.stored, count: body.size, now: now),
                case .partial(let bytes) = conditions.form(
                    ofStored: 200, part.stored.headers, length: part.length, now: now),
                part.range.contains(bytes)
            else { return nil }
            let offset = part.range.lowerBound
            let reader = cache.reader(of: body)
                .reading(bytes.lowerBound - offset..<bytes.upperBound - offset)
            var head = part.head(for: bytes)
            guard !isForSink else {
                head.sizeElsewhere = reader.count
                return StoredCandidate(head, of: identity, reader: .some(reader))
            }
            guard reader.count <= Self.partLimit else { return nil }
            head.body = try reader.rest()
            return StoredCandidate(head, of: identity)
        } catch {
            report(error)
            return nil
        }
    }
}
