/// Waits until a condition holds that has no notification. The test's time limit ends a wait that never ends otherwise.
///
/// The condition is read often at first, and later after a short sleep: a loop that only yields would keep the
/// processors from the awaited code. No test depends on how long that is. It yields before it reads: otherwise a loop
/// whose condition already holds would keep its thread forever, and as many tests as processors would block all others.
package func untilTrue(_ condition: () throws -> Bool) async rethrows {
    await Task.yield()
    var readings = 0
    while try !condition(), !Task.isCancelled {
        readings += 1
        if readings <= 100 {
            await Task.yield()
        } else {
            try? await Task.sleep(for: .milliseconds(readings <= 300 ? 1 : 5))
        }
    }
}
