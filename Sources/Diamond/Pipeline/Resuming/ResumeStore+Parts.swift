import DiamondSQLite
import Foundation

/// The parts that 206 responses have left (RFC 9111 sections 3.3 and 3.4). They share the rows of the partial responses
/// that later exchanges resume.
extension ResumeStore {
    /// The maximum number of bytes of a stored 206, which is collected in memory.
    static let partLimit = 8 << 20

    /// Returns the stored part of a request, with its bytes if they are few enough to combine.
    func part(of identity: ResolvedRequest.Identity, now: Int64) -> StoredPart? {
        guard let cache, mayHaveEntries else { return nil }
        do throws(CacheError) {
            let body = try cache.part(identity.key, request: identity.canonicalForm, url: identity.knownURL)
            guard let body, body.stored.isOf(kind), let part = StoredPart(body.stored, count: body.size, now: now)
            else { return nil }
            return body.size <= Self.partLimit ? part.with(body: try cache.reader(of: body).rest()) : part
        } catch {
            report(error)
            return nil
        }
    }

    /// Writes a part, in the place of another.
    ///
    /// - Parameter entry: the entry with the bytes of the part.
    func write(part entry: CacheEntry) async {
        do throws(CacheError) {
            let writer = try cache?.bodyWriter(for: entry)
            try await writer?.append(entry.stored.body)
            try await writer?.abandon(keepingPartial: true)
        } catch {
            report(error)
        }
    }
}
