/** The table or the command queue throttled, conflicted past the retry budget or could not be reached: the same call may be repeated. */
export class Unavailable extends Error {
  override readonly name = "Unavailable";
}
