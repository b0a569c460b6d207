import Foundation
import HTTPTypes

/// Takes members that are `null` out of JSON, at any depth, before it is decoded, as AFNetworking's
/// `removesKeysWithNullValues`: for servers that write `null` where they have nothing, and models whose properties have
/// defaults.
///
/// ```swift
/// configuration.interceptors = [ResponseValidator.json, NullRemoval()]
/// ```
///
/// A `null` in an array stays, because taking it out would move the others. All the rest stays as it is written, but for
/// white space, and where `Content-Type` names another charset than UTF-8 both become that. A body that is no JSON by its `Content-Type`, or by what is in it, is left alone. What is stored stays as
/// it came. Costs a walk over the body for each caller.
public struct NullRemoval: Interceptor, Hashable {
    /// There is nothing to set.
    public init() {}

    public func transform(_ response: inout Response) async throws {
        guard MediaType(response.headers.single(.contentType)).isJSON else { return }
        let body = response.bodyInUTF8
        guard let bytes = NullRemover.removingNulls(from: body), bytes.count < body.count else { return }
        response.replaceBody(inUTF8: bytes)
    }
}
