/** The service's version, as `GET /health` tells it; a test holds it to package.json. */
export const version = "0.1.0";
