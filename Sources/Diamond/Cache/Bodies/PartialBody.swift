/// What a transfer has received that did not come to its end.
package struct PartialBody: Sendable {
    let outline: BodyOutline
    /// Bytes that were received.
    package let size: Int

    /// The headers that came with it, the validator among them; without the body. `storedAt` is when the last of it was
    /// written.
    package var stored: StoredResponse { outline.stored }
}
